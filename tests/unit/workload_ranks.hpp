// Ranks of a schedule in one process, each a thread, with packers that tests choose.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "model/buffer.hpp"
#include "workload/direct_transport.hpp"
#include "workload/halo_layout.hpp"
#include "workload/host_packer.hpp"
#include "workload/message_slots.hpp"
#include "workload/methods.hpp"

namespace linkscope::workload {

inline const Endpoint host_end{{DeviceKind::numa, 0}, "pageable", {}, {DeviceKind::numa, 0}, {}, 0,
                               pageable_traits};

/// Bytes of the heap. Nothing of it is used but its address.
class HeapBuffer final : public Buffer {
 public:
  explicit HeapBuffer(Bytes bytes) : Buffer(host_end, bytes), words_(bytes / 8 + 1) {}
  [[nodiscard]] std::byte* data() const override { return reinterpret_cast<std::byte*>(words_.data()); }
  void fill(Bytes, Bytes, std::uint64_t) override {}
  void poison(Bytes, Bytes) override {}
  [[nodiscard]] std::optional<Bytes> compare(Bytes, Bytes, std::uint64_t) const override { return {}; }
  void flush(Bytes, Bytes) override {}

 private:
  mutable std::vector<std::uint64_t> words_;
};

using PackerOfRank = std::function<std::unique_ptr<Packer>(int rank)>;

inline std::unique_ptr<Packer> plain_packer(int /*rank*/) { return std::make_unique<HostPacker>(host_end); }

/// `Sending`: DirectTransport, or what a test makes of it.
template <class Sending = DirectTransport>
class RanksBy {
 public:
  explicit RanksBy(const Schedule& schedule, const PackerOfRank& make_packer = plain_packer)
      : schedule_(std::make_shared<const Schedule>(schedule)),
        board_(std::make_shared<const BoardMemory>(schedule.ranks)) {
    schedule_->check();
    const std::vector<MessageSlots> slots = slots_of_ranks(*schedule_);
    std::vector<std::byte*> bases;
    for (int rank = 0; rank < schedule_->ranks; ++rank) {
      const Bytes state = schedule_->grid        ? HaloLayout::bytes(*schedule_->grid, rank)
                          : schedule_->particles ? particle_state_bytes(*schedule_, rank)
                                                 : 8;
      state_.push_back(std::make_unique<HeapBuffer>(state));
      messages_.push_back(std::make_unique<HeapBuffer>(slots[static_cast<std::size_t>(rank)].bytes));
      bases.push_back(messages_.back()->data());
    }
    for (int rank = 0; rank < schedule_->ranks; ++rank) {
      const auto own = static_cast<std::size_t>(rank);
      RankContext context{schedule_, rank, state_[own].get(), messages_[own].get(), make_packer(rank)};
      context.transport =
          std::make_unique<Sending>(RankBoard(board_, rank, host::SpinPolicy::yield), *schedule_,
                                    MessageOrder::host, *context.packer, local_peers(slots, rank, bases));
      transfers_.push_back(schedule_transfer(std::move(context), RankThread{}));
    }
  }

  /// Arms and carries out `repeats` transfers in all ranks at once.
  void run(std::uint64_t repeats = 1) {
    for (const auto& one : transfers_) {
      one->arm(7);
      one->expect(Clock::host);
    }
    go_on(repeats);
  }
  /// Carries out more of them in the same start.
  void go_on(std::uint64_t repeats) {
    std::vector<std::thread> threads;
    for (const auto& one : transfers_) threads.emplace_back([&one, repeats] { one->perform(0, 0, repeats); });
    for (std::thread& thread : threads) thread.join();
  }
  /// What the first rank that complains says of what arrived; empty where none does.
  [[nodiscard]] std::string wrong() const {
    for (const auto& one : transfers_) {
      if (const auto mismatch = one->verify(7)) return mismatch->what;
    }
    return "";
  }
  /// What went wrong in `rank`; empty where nothing did.
  [[nodiscard]] std::string failure(int rank) const {
    try {
      transfers_[static_cast<std::size_t>(rank)]->rethrow();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  [[nodiscard]] const BoardMemory& board() const { return *board_; }
  [[nodiscard]] host::HostTransfer& transfer(int rank) { return *transfers_[static_cast<std::size_t>(rank)]; }

 private:
  std::shared_ptr<const Schedule> schedule_;
  std::shared_ptr<const BoardMemory> board_;
  std::vector<std::unique_ptr<HeapBuffer>> state_;
  std::vector<std::unique_ptr<HeapBuffer>> messages_;
  std::vector<std::unique_ptr<host::HostTransfer>> transfers_;
};

using Ranks = RanksBy<>;

}  // namespace linkscope::workload
