// ShmTransfer: one end of a flow of messages between two processes that copy into each other's memory.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/host/memory_file.hpp"
#include "backend/host/spin.hpp"
#include "backend/host/stamped_transfer.hpp"
#include "model/flow_part.hpp"
#include "model/message_check.hpp"
#include "model/slots.hpp"

namespace linkscope::host {

enum class ShmCall { send, ping_pong };
inline constexpr Parameter shm_call = word("call", "send|ping-pong",
                                           "send: copied into the receiver's memory and answered by a word, "
                                           "so the time is until arrival; ping-pong: half "
                                           "of a round trip");

/// The words that both ends see, on a page of the source's. `word` counts what has been said, by either: each knows
/// whose turn it is. Half a round trip without payload is then one cache line on its way from a CPU to the other.
struct ShmTurns {
  alignas(64) std::atomic<std::uint64_t> word{0};
  alignas(64) std::array<std::atomic<int>, 2> cpus;  ///< by Side
};

class ShmTransfer final : public StampedTransfer {
 public:
  /// `node`: a CPU of it copies. `arenas` outlive the transfer.
  ShmTransfer(int node, const Flow& flow, Side side, const Arenas& arenas);
  ~ShmTransfer() override;

  /// Returns what the peer's connect() is given.
  [[nodiscard]] std::string export_handles() const;
  /// Before anything else. Throws Error{unsupported} where this process cannot have the other's memory.
  void connect(const std::string& exported);

  [[nodiscard]] std::vector<std::string> notes() const override { return arenas_.residences(); }

 protected:
  [[nodiscard]] std::optional<Span> carry_out(std::uint64_t first, std::uint64_t repeats) noexcept override;

 private:
  struct Exported;

  void meet() noexcept;
  void settle_policy() noexcept;
  void converse(std::uint64_t index) noexcept;
  void send_message(std::uint64_t index) noexcept;
  void receive_message(std::uint64_t index) noexcept;
  void tell() noexcept;
  void hear() noexcept;

  ShmCall call_;
  Side side_;
  Arenas arenas_;
  Bytes bytes_;
  std::optional<MemoryFile> own_turns_;  ///< the source's alone
  std::optional<ForeignPages> peer_turns_;
  ShmTurns* turns_ = nullptr;
  std::uint64_t said_ = 0;
  SpinPolicy policy_ = SpinPolicy::yield;
  std::optional<ForeignPages> peer_memory_;
  Slots out_;
  Slots in_;
  Slots peer_in_;
};

}  // namespace linkscope::host
