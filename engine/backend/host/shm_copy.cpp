// shm-copy: messages between two processes of a host, copied by the CPU straight into the receiver's memory.
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>

#include "backend/host/backend.hpp"
#include "backend/host/host_buffer.hpp"
#include "backend/host/host_transfer.hpp"
#include "backend/host/spin.hpp"
#include "base/error.hpp"
#include "base/pack.hpp"
#include "base/steady_clock.hpp"
#include "model/copy_check.hpp"

namespace linkscope::host {
namespace {

constexpr Bytes line_bytes = 64;
constexpr Bytes piece = 8 * KiB;
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "or it means nothing to another process");

/// Throws Error{broken} for a buffer in any memory but `shm`: supports() lets none come so far.
const MemoryFile& file_of(const Buffer& buffer) {
  const auto* const mapped = dynamic_cast<const MappedBuffer*>(&buffer);
  if (mapped == nullptr || mapped->file() == nullptr)
    throw Error(Fault::broken, buffer.where().memory + " memory has no file that another process could map");
  return *mapped->file();
}

enum class ShmCall { send, ping_pong };
constexpr Parameter shm_call = word("call", "send|ping-pong",
                                    "send: copied into the receiver's memory and answered by a word, "
                                    "so the time is until arrival; ping-pong: half "
                                    "of a round trip");

/// The words that both ends see, on a page of the source's. `word` counts what has been said, by either: each knows
/// whose turn it is. Half a round trip without payload is then one cache line on its way from a CPU to the other.
struct ShmTurns {
  alignas(64) std::atomic<std::uint64_t> word{0};
  alignas(64) std::array<std::atomic<int>, 2> cpus;  ///< by Side
};

/// One end of a flow of messages between two processes that copy into each other's memory.
class ShmTransfer final : public StampedTransfer {
 public:
  /// `node`: a CPU of it copies. `arenas` outlive the transfer.
  ShmTransfer(int node, const Flow& flow, Side side, const Arenas& arenas)
      : StampedTransfer(node),
        call_(flow.parameters.choice<ShmCall>(shm_call)),
        side_(side),
        arenas_(arenas),
        bytes_(flow.bytes) {
    if (side == Side::source) {
      turns_memory_ = own_turns_.emplace(sizeof(ShmTurns)).map();
      turns_ = new (turns_memory_.get()) ShmTurns;
    }
    own_facts().operations = call_ == ShmCall::ping_pong ? 2 : 1;
  }

  /// Returns what the peer's connect() is given.
  [[nodiscard]] std::string export_handles() const {
    const MemoryFile::Key none;  // of no descriptor
    return Pack()
        .text(boot_id())
        .put(own_turns_ ? own_turns_->key() : none)
        .put(arenas_.destination == nullptr ? none : file_of(*arenas_.destination).key())
        .put(arenas_.rotation.slots)
        .bytes();
  }
  /// Before anything else. Throws Error{unsupported} where this process cannot have the other's memory.
  void connect(const std::string& exported) {
    Unpack peer(exported, "a process lent no memory");
    if (peer.text() != boot_id())
      throw Error(Fault::unsupported, "the two processes are on different hosts: they share no memory");
    const auto peer_turns = peer.get<MemoryFile::Key>();
    const auto peer_memory = peer.get<MemoryFile::Key>();
    const auto peer_slots = peer.get<std::uint64_t>();
    peer.end();
    if (side_ == Side::destination) {
      turns_memory_ = map_foreign(peer_turns);
      turns_ = std::launder(reinterpret_cast<ShmTurns*>(turns_memory_.get()));
    }
    const Rotation rotation{arenas_.rotation.stride, std::min(arenas_.rotation.slots, peer_slots)};
    out_ = {address_of(arenas_.source), rotation.stride, rotation.slots};
    in_ = {address_of(arenas_.destination), rotation.stride, rotation.slots};
    if (peer_memory.descriptor >= 0) {
      if (peer_memory.bytes < (rotation.slots - 1) * rotation.stride + bytes_)
        throw Error(Fault::broken, "a process lent less memory than the messages take");
      peer_memory_ = map_foreign(peer_memory);
      peer_in_ = {peer_memory_.get(), rotation.stride, rotation.slots};
    }
    if (bytes_ > 0) set_check(std::make_unique<MessageCheck>(side_, arenas_, bytes_, rotation));
  }

  [[nodiscard]] std::vector<std::string> notes() const override { return arenas_.residences(); }

 protected:
  [[nodiscard]] std::optional<Span> carry_out(std::uint64_t first, std::uint64_t repeats) noexcept override {
    settle_policy();
    const std::optional<Span> span =
        stamped(first, repeats, [&](std::uint64_t from, std::uint64_t count) noexcept {
          for (std::uint64_t index = from; index < from + count; ++index) converse(index);
          return true;
        });
    meet();
    return span;
  }

 private:
  /// The source speaks first, and hears an answer: a message too where it is a ping-pong, else a word.
  void converse(std::uint64_t index) noexcept {
    const bool answered = call_ == ShmCall::ping_pong;
    if (side_ == Side::source) {
      send_message(index);
      answered ? receive_message(index) : hear();
    } else {
      receive_message(index);
      answered ? send_message(index) : tell();
    }
  }

  void meet() noexcept {
    if (side_ == Side::destination) hear();
    tell();
    if (side_ == Side::source) hear();
  }

  /// Meets; from then on this end waits awake, unless the other needs this CPU.
  void settle_policy() noexcept {
    const auto& cpus = turns_->cpus;
    turns_->cpus[static_cast<std::size_t>(side_)].store(::sched_getcpu(), std::memory_order_relaxed);
    policy_ = SpinPolicy::yield;
    meet();
    const bool shared = cpus[0].load(std::memory_order_relaxed) == cpus[1].load(std::memory_order_relaxed);
    if (!shared) policy_ = SpinPolicy::spin_first;
  }

  /// Piece by piece, each with its word, so that the peer reads one while the next is copied.
  void send_message(std::uint64_t index) noexcept {
    Bytes offset = 0;
    do {
      const Bytes size = std::min(piece, bytes_ - offset);
      if (size > 0) std::memcpy(peer_in_.at(index) + offset, out_.at(index) + offset, size);
      tell();
      offset += size;
    } while (offset < bytes_);
  }

  /// Reads a byte of each cache line: all of it has come to this CPU then.
  void receive_message(std::uint64_t index) noexcept {
    const volatile std::byte* const at = in_.at(index);
    Bytes offset = 0;
    do {
      hear();
      const Bytes end = std::min(offset + piece, bytes_);
      for (; offset < end; offset += line_bytes) static_cast<void>(at[offset]);
    } while (offset < bytes_);
  }

  void tell() noexcept { turns_->word.store(++said_, std::memory_order_release); }

  void hear() noexcept {
    ++said_;
    for (Spin spin(policy_); turns_->word.load(std::memory_order_acquire) < said_;) spin.once();
  }

  ShmCall call_;
  Side side_;
  Arenas arenas_;
  Bytes bytes_;
  std::optional<MemoryFile> own_turns_;  ///< the source's alone
  MappedPages turns_memory_;
  ShmTurns* turns_ = nullptr;
  std::uint64_t said_ = 0;
  SpinPolicy policy_ = SpinPolicy::yield;
  MappedPages peer_memory_;
  Slots out_;
  Slots in_;
  Slots peer_in_;
};

/// Tells whether messages are answered by messages.
bool answers(const Flow& flow) { return flow.parameters.choice<ShmCall>(shm_call) == ShmCall::ping_pong; }

Support not_shareable(const Endpoint& end) {
  return Support::no("another process cannot map " + end.memory + " memory: a receiver's must be shm");
}

Support supports(const Flow& flow) {
  if (!flow.source || !flow.destination) return Support::no("shm-copy needs a source and a destination");
  if (flow.source->rank == flow.destination->rank)
    return Support::no(
        "shm-copy moves data between processes, and both ends are in one: memcpy copies there");
  for (const Endpoint* end : {&*flow.source, &*flow.destination}) {
    if (end->device.kind != DeviceKind::numa) return Support::no(end->device.text() + " is no host memory");
  }
  if (!flow.destination->traits.shareable) return not_shareable(*flow.destination);
  return answers(flow) && !flow.source->traits.shareable ? not_shareable(*flow.source) : Support::yes();
}

std::unique_ptr<PreparedParts> assemble(const Flow& flow, const std::vector<LocalPart>& own) {
  if (own.empty()) return std::make_unique<PreparedParts>();
  const LocalPart& part = own.front();
  const Side side = part.index == 0 ? Side::source : Side::destination;
  const Endpoint& here = side == Side::source ? *flow.source : *flow.destination;
  const Endpoint& there = side == Side::source ? *flow.destination : *flow.source;
  auto end = std::make_unique<ShmTransfer>(here.device.index, flow, side, part.arenas);
  ShmTransfer* const at = end.get();
  return std::make_unique<SinglePart>(
      std::move(end), [at] { return at->export_handles(); },
      [at, peer = static_cast<std::size_t>(there.rank)](const std::vector<std::string>& exports) {
        at->connect(exports.at(peer));
      });
}

}  // namespace

Method shm_copy(const std::shared_ptr<HostContext>& context) {
  Method row{{"shm-copy", "messages between two processes of a host, copied straight into shared memory",
              Quantity::bandwidth, shm_copy_traits},
             {shm_call}};
  row.supports = supports;
  row.quantity_of = [](const Flow& flow) { return answers(flow) ? Quantity::latency : Quantity::bandwidth; };
  row.rotation_bytes = [context](const Flow& flow) {
    return context->rotation_bytes({flow.source->device, flow.destination->device}) / both_ends;
  };
  row.parts = [](const Flow& flow) { return message_parts(flow, answers(flow)); };
  row.assemble = assemble;
  return row;
}

}  // namespace linkscope::host
