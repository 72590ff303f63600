// RankBoard: ranks of one process and of several reduce exactly, and none waits for one that is gone.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "workload/rank_board.hpp"

namespace linkscope::workload {
namespace {

std::shared_ptr<const BoardMemory> board_for(int ranks) { return std::make_shared<const BoardMemory>(ranks); }

/// Runs `work` as each of `ranks` ranks, by threads.
template <class Work>
void as_ranks(int ranks, const Work& work) {
  const auto memory = board_for(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      RankBoard board(memory, rank);
      work(board);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Reductions of every kind in turn; how many are wrong.
int wrong_reductions(RankBoard& board, int ranks, int rounds) {
  int wrong = 0;
  const auto sum_of_ranks = static_cast<std::int64_t>(ranks) * (ranks - 1) / 2;
  for (int round = 0; round < rounds; ++round) {
    double least = 0.5 + board.rank() + round;
    board.reduce({NumberType::float64, ReduceOp::min, 1}, &least);
    wrong += least == 0.5 + round ? 0 : 1;
    std::int32_t most = board.rank() - round;
    board.reduce({NumberType::int32, ReduceOp::max, 1}, &most);
    wrong += most == ranks - 1 - round ? 0 : 1;
    std::int64_t begun[2] = {board.rank(), round};
    board.begin_reduce(begun, 2);
    board.wait([&] { return board.reduced(); });
    wrong += begun[0] == sum_of_ranks && begun[1] == static_cast<std::int64_t>(ranks) * round ? 0 : 1;
    std::int64_t sums[2] = {board.rank(), -1};
    board.reduce({NumberType::int64, ReduceOp::sum, 2}, sums);
    wrong += sums[0] == sum_of_ranks && sums[1] == -ranks ? 0 : 1;
    board.reduce({.count = 0}, nullptr);
  }
  return wrong;
}

TEST(RankBoard, ReductionsOfThreadsAreExact) {
  std::vector<int> wrong(4, -1);
  as_ranks(4, [&](RankBoard& board) {
    wrong[static_cast<std::size_t>(board.rank())] = wrong_reductions(board, 4, 100);
  });
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(RankBoard, MoreNumbersThanATurnHas) {
  constexpr std::size_t count = 3 * reduction_chunk / sizeof(std::int32_t) + 5;
  std::vector<std::int64_t> sums(3, 0);
  as_ranks(3, [&](RankBoard& board) {
    std::vector<std::int32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), board.rank());
    board.reduce({NumberType::int32, ReduceOp::sum, static_cast<int>(count)}, numbers.data());
    for (std::size_t i = 0; i < count; ++i)
      sums[static_cast<std::size_t>(board.rank())] +=
          numbers[i] == 3 * static_cast<std::int32_t>(i) + 3 ? 0 : 1;
  });
  EXPECT_EQ(sums, std::vector<std::int64_t>(3, 0));
}

TEST(RankBoard, ProcessesFindItAndReduceExactly) {
  const auto memory = board_for(2);
  const std::string told = memory->told();
  const pid_t child = fork();
  if (child == 0) {
    const auto found = std::make_shared<const BoardMemory>(2, told);
    RankBoard board(found, 1);
    _exit(wrong_reductions(board, 2, 100) == 0 ? 0 : 1);
  }
  RankBoard board(memory, 0);
  EXPECT_EQ(wrong_reductions(board, 2, 100), 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(RankBoard, WhatIsNoBoardIsNotTakenForOne) {
  const auto memory = board_for(2);
  const auto fault_of = [](int ranks, const std::string& told) {
    try {
      const BoardMemory found(ranks, told);
      return std::string("found");
    } catch (const Error& error) {
      return std::string(error.fault() == Fault::unsupported ? "unsupported" : "broken");
    }
  };
  const std::string told = memory->told();
  EXPECT_EQ(fault_of(2, told), "found");
  EXPECT_EQ(fault_of(3, told), "broken") << "of another number of ranks";
  EXPECT_EQ(fault_of(2, "nothing"), "broken");
  std::string elsewhere = told;
  elsewhere[sizeof(std::uint64_t)] ^= 1;  // of the boot id's text
  EXPECT_EQ(fault_of(2, elsewhere), "unsupported") << "on another host";
  const std::string gone = board_for(2)->told();
  EXPECT_EQ(fault_of(2, gone), "unsupported");
}

TEST(RankBoard, NoWaitOutlastsARankThatGaveUpOrWhoseProcessIsGone) {
  const auto memory = board_for(2);
  RankBoard own(memory, 0);
  const pid_t child = fork();
  if (child == 0) {
    const RankBoard other(memory, 1);
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_THROW(own.reduce({.count = 0}, nullptr), Error) << "its process is gone";

  const auto fresh = board_for(2);
  RankBoard waiting(fresh, 0);
  const RankBoard failed(fresh, 1);
  std::thread gives_up([&] { failed.give_up(); });
  EXPECT_THROW(waiting.wait([] { return false; }), Error);
  gives_up.join();
  EXPECT_THROW(static_cast<void>(waiting.reduced()), Error);
}

}  // namespace
}  // namespace linkscope::workload
