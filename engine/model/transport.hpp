// Transport: how the messages of one rank reach the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/units.hpp"
#include "model/schedule.hpp"

namespace linkscope {

/// Packing, messages and unpacking are kept in order by one of two. host: the rank's thread, which has its device synchronised before
/// it sends and before it unpacks. device: the device's stream, on which all three are enqueued.
enum class MessageOrder { device, host };

/// A message that has come: from whom, and how long it is.
struct ArrivedMessage {
  int peer = 0;
  Bytes bytes = 0;
};

/// Calls are made by the rank's one thread. Each throws Error{broken} where the interface fails, and where another rank
/// of this process has given up (Transport::give_up()). Peers are ranks of the schedule; messages between two ranks
/// arrive in the order in which they were sent, in the receiver's slot for that peer (workload/message_slots.hpp).
/// `offset` is that of a message in its slot.
class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual MessageOrder order() const { return MessageOrder::host; }

  /// Returns where a message to `peer` is packed: in the rank's own slot, or where the interface can store into it in the
  /// peer's. May wait until the peer has unpacked what was there.
  [[nodiscard]] virtual std::byte* outgoing(int peer, Bytes offset) = 0;
  /// Posts a receive of at most `bytes` from `peer`.
  virtual void receive(int peer, Bytes offset, Bytes bytes) = 0;
  /// Begins to send what was packed at outgoing(peer, offset).
  virtual void send(int peer, Bytes offset, Bytes bytes) = 0;
  /// Waits for all sends and receives that were begun (MessageOrder::device: has the stream wait). After it, messages
  /// may be unpacked.
  virtual void wait() = 0;
  /// Lets the peers overwrite what was unpacked.
  virtual void unpacked() {}

  /// Particles: names the phase whose messages come next. Every rank calls it, those without messages too.
  virtual void begin_phase(const Phase& /*phase*/) {}
  /// Particles: begins to send from `from`, memory that the rank has allocated itself and keeps until sent(). Never
  /// waits for the peer: that may wait to send as well.
  virtual void send_from(int peer, const std::byte* from, Bytes bytes) = 0;
  /// Says whether all sends begun by send_from() are over.
  [[nodiscard]] virtual bool sent() = 0;
  /// Returns a message that has come for a posted receive, if there is one; its receive is over.
  [[nodiscard]] virtual std::optional<ArrivedMessage> arrived() = 0;
  /// Takes back receives that nobody will send for.
  virtual void cancel() {}

  /// Reduces the `what.count` `numbers` of each rank in place. With none it is a barrier.
  virtual void collective(const SmallCollective& what, void* numbers) = 0;
  /// Begins an all-reduce (sum) of int64, of which reduced() says whether it is over. Until then there is no other one.
  virtual void begin_reduce(std::int64_t* numbers, int count) = 0;
  [[nodiscard]] virtual bool reduced() = 0;

  /// Seconds so far in which it copied messages to or from other memory, on their way to a library that takes no other.
  [[nodiscard]] virtual Seconds copied() const { return 0; }

  /// Makes the other ranks of this process, which may be waiting, throw. Called by any thread. Ranks of other processes
  /// learn it otherwise.
  virtual void give_up() noexcept {}
};

}  // namespace linkscope
