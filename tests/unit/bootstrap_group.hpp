// A group of ranks in this process, joined by real connections: a thread for each, and how each ended.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "comm/bootstrap.hpp"

namespace linkscope {

inline constexpr Seconds long_enough = 60;

inline BootstrapOptions member(int rank, int size, Seconds limit = long_enough) {
  BootstrapOptions own;
  own.handshake = {"secret",
                   rank,
                   size,
                   "host" + std::to_string(rank),
                   clock_identity(),
                   {{"version", "1"}, {"plan", "abc"}}};
  own.limit = limit;
  return own;
}

/// What became of one rank's work: its fault, its words and its causes; none where it went well.
struct Ending {
  std::optional<Fault> fault;
  std::string words;
  Causes causes;
};

using Work = std::function<void(Bootstrap&)>;

/// A group in this process: a thread per rank, `size` as each says. `ended` counts the ranks that are through.
inline std::vector<Ending> in_group(const std::vector<BootstrapOptions>& members, const Work& work,
                                    std::atomic<int>* ended = nullptr) {
  Listener listener{"127.0.0.1"};
  std::vector<Ending> endings(members.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < members.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        const BootstrapOptions& own = members[i];
        const auto group = own.handshake.rank == 0
                               ? std::make_unique<Bootstrap>(listener, own)
                               : std::make_unique<Bootstrap>(Address{"127.0.0.1", listener.port()}, own);
        work(*group);
      } catch (const Error& error) {
        endings[i] = {error.fault(), error.what(), causes_of(error)};
      }
      if (ended != nullptr) ++*ended;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return endings;
}

inline std::vector<BootstrapOptions> members(int size, Seconds limit = long_enough) {
  std::vector<BootstrapOptions> all;
  for (int rank = 0; rank < size; ++rank) all.push_back(member(rank, size, limit));
  return all;
}

/// "failed 1, late 2 3": kind and ranks of each.
inline std::string facts_of(const Causes& causes) {
  std::string all;
  for (const Cause& cause : causes) {
    all += std::string(all.empty() ? "" : ", ") + Json(cause.kind).get<std::string>();
    for (const int rank : cause.ranks) all += " " + std::to_string(rank);
  }
  return all;
}

inline void expect_all(const std::vector<Ending>& endings, Fault fault, const std::string& words,
                       const std::optional<std::string>& facts = std::nullopt) {
  for (const Ending& ending : endings) {
    EXPECT_EQ(ending.fault, fault);
    EXPECT_EQ(ending.words, words);
    if (facts) {
      EXPECT_EQ(facts_of(ending.causes), *facts);
    }
  }
}

}  // namespace linkscope
