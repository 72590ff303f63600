// ThreadTransport: ranks of one process that store straight into one another's memory: direct access on a host.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "model/transport.hpp"
#include "workload/message_slots.hpp"
#include "workload/rank_board.hpp"

namespace linkscope::workload {

/// Where each rank of a process receives from its peers; all are there before anything is sent.
using Mailboxes = std::vector<std::byte*>;

/// One rank's. Packs where the peer unpacks; a message of particles is copied there once its place is free.
class ThreadTransport final : public Transport {
 public:
  /// Enters `base`, where this rank receives, into `mailboxes`, which has a place for each rank.
  ThreadTransport(RankBoard board, std::shared_ptr<Mailboxes> mailboxes, const Schedule& schedule,
                  std::byte* base);

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
  void collective(const SmallCollective& what, void* numbers) override { board_.reduce(what, numbers); }
  void begin_reduce(std::int64_t* numbers, int count) override { board_.begin_reduce(numbers, count); }
  [[nodiscard]] bool reduced() override;
  void give_up() noexcept override { board_.give_up(); }

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

  RankBoard board_;
  std::shared_ptr<Mailboxes> mailboxes_;
  const Schedule* schedule_;
  MessageSlots slots_;
  std::byte* base_;
  std::map<int, Peer> peers_;
};

}  // namespace linkscope::workload
