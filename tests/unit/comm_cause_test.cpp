// Causes: what of them survives a message, and what is none.
#include "comm/cause.hpp"

#include <gtest/gtest.h>

namespace linkscope {
namespace {

TEST(CausesTest, AreWhatTheyWereBehindAMessage) {
  const Causes causes{{CauseKind::gone, {1}, "rank 1 is gone"}, {CauseKind::late, {2, 300}, ""}};
  const std::string payload = text_of(causes);
  EXPECT_EQ(causes_in(payload), causes);
  const std::string unknown_kind = R"([{"kind": "bored", "ranks": [1], "words": "rank 1 is bored"}])";
  const std::string no_rank = R"([{"kind": "gone", "ranks": [true], "words": "rank 1 is gone"}])";
  for (const std::string& other : {payload.substr(1), std::string("rank 1 is gone"), std::string(),
                                   std::string("[]"), unknown_kind, no_rank, std::string(200000, '[')})
    EXPECT_TRUE(causes_in(other).empty()) << other.substr(0, 80);
}

}  // namespace
}  // namespace linkscope
