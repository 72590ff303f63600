// RankThreads: ranks of one process that store straight into one another's memory: direct access on a host.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "backend/host/spin.hpp"
#include "model/transport.hpp"
#include "workload/message_slots.hpp"

namespace linkscope::workload {

/// What the ranks share: how many messages each has for each other, and what they reduce.
class RankThreads {
 public:
  /// `spin`: whether each rank has a CPU of its own.
  RankThreads(int ranks, host::SpinPolicy spin);

  /// Words between two ranks: messages sent, and messages whose place is free again.
  struct Pair {
    alignas(64) std::atomic<std::uint64_t> sent{0};
    alignas(64) std::atomic<std::uint64_t> freed{0};
    std::atomic<Bytes> bytes{0};  ///< of the last one
  };

  [[nodiscard]] Pair& pair(int source, int destination) {
    return pairs_[static_cast<std::size_t>(source) * static_cast<std::size_t>(ranks_) +
                  static_cast<std::size_t>(destination)];
  }
  [[nodiscard]] int ranks() const { return ranks_; }
  /// Where `rank` receives from its peers, before anything is sent.
  void expose(int rank, std::byte* base) { bases_[static_cast<std::size_t>(rank)] = base; }
  [[nodiscard]] std::byte* base(int rank) const { return bases_[static_cast<std::size_t>(rank)]; }

  void give_up() noexcept { given_up_.store(true, std::memory_order_release); }
  /// Throws Error{broken} after give_up().
  void require_all() const;
  /// Waits until `is_so`. Throws Error{broken} after give_up().
  template <class Condition>
  void wait(const Condition& is_so) const {
    for (host::Spin spin(spin_); !is_so(); spin.once()) require_all();
  }
  /// All ranks meet; each may read what the others wrote before.
  void meet();

  /// What `rank` gives to a reduction; read by all between two meetings.
  void give(int rank, const void* numbers) { given_[static_cast<std::size_t>(rank)] = numbers; }
  [[nodiscard]] const void* given(int rank) const { return given_[static_cast<std::size_t>(rank)]; }

  /// A reduction that nobody waits for; two can be under way, told apart by whether their number is odd.
  struct Begun {
    std::atomic<std::uint64_t> arrived{0};
    std::vector<std::array<std::int64_t, 8>> numbers;
  };
  [[nodiscard]] Begun& begun(std::uint64_t number) { return begun_[number % 2]; }

 private:
  int ranks_;
  host::SpinPolicy spin_;
  std::deque<Pair> pairs_;
  std::vector<std::byte*> bases_;
  std::vector<const void*> given_;
  std::array<Begun, 2> begun_;
  std::atomic<bool> given_up_{false};
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<std::uint64_t> meeting_{0};
};

/// One rank's. Packs where the peer unpacks; a message of particles is copied there once its place is free.
class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<RankThreads> threads, const Schedule& schedule, int rank, std::byte* base);

  [[nodiscard]] std::byte* outgoing(int peer, Bytes offset, Bytes bytes) override;
  [[nodiscard]] const std::byte* incoming(int peer, Bytes offset) override;
  void receive(int peer, Bytes offset, Bytes bytes) override;
  void send(int peer, Bytes offset, Bytes bytes) override;
  void wait() override;
  void unpacked() override;
  void send_from(int peer, const std::byte* from, Bytes bytes) override;
  [[nodiscard]] bool sent() override;
  [[nodiscard]] std::optional<ArrivedMessage> arrived() override;
  void cancel() override;
  void collective(const SmallCollective& what, void* numbers) override;
  void begin_reduce(std::int64_t* numbers, int count) override;
  [[nodiscard]] bool reduced() override;
  void give_up() noexcept override { threads_->give_up(); }

 private:
  /// A peer, and what of the messages to and from it is known here.
  struct Peer {
    std::byte* theirs = nullptr;  ///< where they receive from this rank
    std::uint64_t sent = 0;
    std::uint64_t sent_before_phase = 0;
    std::uint64_t received = 0;
    std::uint64_t freed = 0;
    bool posted = false;  ///< particles: a receive
    std::deque<std::pair<const std::byte*, Bytes>> waiting;
  };

  [[nodiscard]] Peer& peer(int rank);
  bool hand_over(int rank, Peer& to);

  std::shared_ptr<RankThreads> threads_;
  const Schedule* schedule_;
  int rank_;
  MessageSlots slots_;
  std::byte* base_;
  std::map<int, Peer> peers_;
  std::uint64_t reductions_ = 0;
  std::int64_t* reducing_ = nullptr;
  int reducing_count_ = 0;
};

}  // namespace linkscope::workload
