// The words of advice. Needs no GPU.
#include "backend/gpu/memory/memories.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

TEST(Advice, IsWordsJoinedByPlus) {
  EXPECT_EQ(parse_advice(""), std::set<Advice>{});
  EXPECT_EQ(parse_advice("read-mostly"), std::set{Advice::read_mostly});
  EXPECT_EQ(parse_advice("accessed-by+preferred-location"),
            (std::set{Advice::preferred_location, Advice::accessed_by}));
  EXPECT_EQ(parse_advice("coarse-grained+coarse-grained"), std::set{Advice::coarse_grained});
}

TEST(Advice, OfUnknownOrMissingWordsIsBadInputThatNamesTheKnownOnes) {
  for (const char* text : {"none", "read-mostly,accessed-by", "+", "+read-mostly", "read-mostly+",
                           "read-mostly++accessed-by", "Read-Mostly"}) {
    try {
      static_cast<void>(parse_advice(text));
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::bad_input) << text;
      EXPECT_NE(std::string(error.what()).find("accessed-by"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace linkscope::gpu
