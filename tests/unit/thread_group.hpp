// A group whose processes are threads of one test.
#pragma once

#include <barrier>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/process_group.hpp"

namespace linkscope {

/// What the threads of one group share.
struct SharedWords {
  explicit SharedWords(int ranks) : words(static_cast<std::size_t>(ranks)), arrival(ranks) {}
  std::vector<std::string> words;
  std::barrier<> arrival;
};

class ThreadGroup final : public ProcessGroup {
 public:
  ThreadGroup(std::shared_ptr<SharedWords> shared, int rank) : shared_(std::move(shared)), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(shared_->words.size()); }
  [[nodiscard]] std::string name_of(int rank) const override { return "rank " + std::to_string(rank); }
  std::vector<std::string> allgather(const std::string& own, const Step& /*step*/ = {}) override {
    shared_->words[static_cast<std::size_t>(rank_)] = own;
    shared_->arrival.arrive_and_wait();
    std::vector<std::string> all = shared_->words;
    shared_->arrival.arrive_and_wait();
    ++exchanges;
    return all;
  }
  [[nodiscard]] Seconds clock_offset() const override { return offset; }
  [[nodiscard]] Seconds clock_uncertainty() const override { return uncertainty; }

  Seconds offset = 0;
  Seconds uncertainty = 0;
  int exchanges = 0;

 private:
  std::shared_ptr<SharedWords> shared_;
  int rank_;
};

/// Runs `body` on every rank, each in a thread of its own.
inline void in_group_of(int ranks, const std::function<void(ThreadGroup&)>& body) {
  const auto shared = std::make_shared<SharedWords>(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadGroup group(shared, rank);
      body(group);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace linkscope
