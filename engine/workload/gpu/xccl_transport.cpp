#include "workload/gpu/xccl_transport.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/memory/gpu_memory.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"
#include "base/steady_clock.hpp"
#include "workload/rank_board.hpp"

namespace linkscope::workload {
namespace {

constexpr Bytes staging_bytes = 64 * KiB;
constexpr Seconds new_wait = 1;  // without a look: what is waited for now is something else
constexpr unsigned looks_between_questions = 64;

xccl::DataType type_of(NumberType type) {
  switch (type) {
    case NumberType::int32:
      return xccl::DataType::int32;
    case NumberType::int64:
      return xccl::DataType::int64;
    case NumberType::float64:
      return xccl::DataType::float64;
  }
  return xccl::DataType::float64;
}

xccl::Reduction reduction_of(ReduceOp by) {
  switch (by) {
    case ReduceOp::sum:
      return xccl::Reduction::sum;
    case ReduceOp::min:
      return xccl::Reduction::min;
    case ReduceOp::max:
      return xccl::Reduction::max;
  }
  return xccl::Reduction::sum;
}

}  // namespace

XcclTransport::XcclTransport(const std::shared_ptr<gpu::GpuContext>& context,
                             std::shared_ptr<XcclRanks> ranks, const Schedule& schedule, int rank,
                             std::byte* base, gpu::GpuPacker& packer)
    : ranks_(std::move(ranks)),
      schedule_(&schedule),
      rank_(rank),
      base_(base),
      packer_(&packer),
      slots_(schedule, rank),
      staging_(*context, packer.device(), staging_bytes / sizeof(std::uint64_t)),
      staged_(gpu::allocate_pinned(*context, gpu::calling_node(*context, packer.device()), staging_bytes),
              gpu::pinned_deleter(context)) {
  packer.look_meanwhile([this] { look(); });
}

std::byte* XcclTransport::outgoing(int peer, Bytes offset, Bytes /*bytes*/) {
  return base_ + slots_.to().at(peer).offset + offset;
}

const std::byte* XcclTransport::incoming(int peer, Bytes offset) {
  return base_ + slots_.from().at(peer).offset + offset;
}

void XcclTransport::receive(int peer, Bytes offset, Bytes bytes) {
  if (schedule_->particles) return;
  receives_.push_back({peer, base_ + slots_.from().at(peer).offset + offset, bytes});
}

void XcclTransport::send(int peer, Bytes offset, Bytes bytes) {
  sends_.push_back({peer, outgoing(peer, offset, bytes), bytes});
}

void XcclTransport::wait() { exchange(sends_, receives_); }

void XcclTransport::exchange(std::vector<Sent>& sends, std::vector<Received>& receives) {
  if (sends.empty() && receives.empty()) return;
  require_all();
  LINKSCOPE_CHECK(gpuSetDevice(packer_->device()));
  const xccl::Api& api = library().api();
  xccl::Comm* const own = comm();
  xccl::Group group(library());
  for (const Received& one : receives)
    library().check(api.recv(one.to, one.bytes, xccl::DataType::int8, one.peer, own, stream()), "ncclRecv");
  for (const Sent& one : sends)
    library().check(api.send(one.from, one.bytes, xccl::DataType::int8, one.peer, own, stream()), "ncclSend");
  group.end();
  sends.clear();
  receives.clear();
  waiting_since_ = steady_seconds();
}

void XcclTransport::begin_phase(std::size_t loop, std::size_t phase) {
  phase_ = messages_of(schedule_->loops[loop].phases[phase], rank_);
  exchanged_ = phase_.sends.empty() && phase_.receives.empty();
}

void XcclTransport::send_from(int peer, const std::byte* from, Bytes bytes) {
  sends_.push_back({peer, from, bytes});
}

bool XcclTransport::is_due() const { return !exchanged_ && sends_.size() == phase_.sends.size(); }

bool XcclTransport::sent() {
  require_all();
  return sends_.empty() && idle();
}

/// Every rank with messages in a phase comes here once it has said what it sends, so that the groups of all are met.
std::optional<ArrivedMessage> XcclTransport::arrived() {
  require_all();
  if (is_due()) exchange_lengths();
  if (arrived_.empty()) return std::nullopt;
  const ArrivedMessage next = arrived_.back();
  arrived_.pop_back();
  return next;
}

void XcclTransport::exchange_lengths() {
  exchanged_ = true;
  auto* const on_gpu = reinterpret_cast<std::byte*>(staging_.data());
  auto* const on_host = reinterpret_cast<std::uint64_t*>(staged_.get());
  constexpr Bytes each = sizeof(std::uint64_t);
  const std::size_t out = sends_.size();
  if ((out + phase_.receives.size()) * each > staging_bytes)
    throw Error(Fault::unsupported, "more messages in a phase than there is room for their lengths");
  std::vector<Sent> lengths;
  std::vector<Received> expected;
  for (const Sent& one : sends_) {
    on_host[lengths.size()] = one.bytes;
    lengths.push_back({one.peer, on_gpu + lengths.size() * each, each});
  }
  for (const PeerMessage& one : phase_.receives)
    expected.push_back({one.peer, on_gpu + (out + expected.size()) * each, each});
  const std::size_t in = expected.size();
  LINKSCOPE_CHECK(gpuSetDevice(packer_->device()));
  LINKSCOPE_CHECK(gpuMemcpyAsync(on_gpu, on_host, out * each, gpuMemcpyDefault, stream()));
  exchange(lengths, expected);
  LINKSCOPE_CHECK(gpuMemcpyAsync(on_host + out, on_gpu + out * each, in * each, gpuMemcpyDefault, stream()));
  packer_->synchronise();
  for (std::size_t i = 0; i < in; ++i) {
    const int peer = phase_.receives[i].peer;
    const MessageSlot& slot = slots_.from().at(peer);
    const Bytes bytes = on_host[out + i];
    if (bytes > slot.bytes)
      throw Error(Fault::broken, "rank " + std::to_string(peer) + " sends " + std::to_string(bytes) +
                                     " bytes, more than was expected");
    expected.push_back({peer, base_ + slot.offset, bytes});
    arrived_.insert(arrived_.begin(), {peer, bytes});
  }
  exchange(sends_, expected);
}

bool XcclTransport::idle() {
  const gpuError_t state = gpuStreamQuery(stream());
  if (state == gpuSuccess) {
    require_all();
    return true;
  }
  if (state != gpuErrorNotReady) LINKSCOPE_CHECK(state);
  static_cast<void>(gpuGetLastError());  // "not ready" is kept as if it were an error
  look();
  return false;
}

void XcclTransport::reduce_staged(const SmallCollective& what, const void* numbers, Bytes bytes) {
  require_all();
  std::byte* const staged = staged_.get();
  if (bytes > 0) std::memcpy(staged, numbers, bytes);
  const Bytes moved = std::max<Bytes>(bytes, sizeof(std::int64_t));  // a barrier reduces a number as well
  LINKSCOPE_CHECK(gpuSetDevice(packer_->device()));
  LINKSCOPE_CHECK(gpuMemcpyAsync(staging_.data(), staged, moved, gpuMemcpyDefault, stream()));
  const std::size_t count = bytes > 0 ? bytes / bytes_of(what.type) : 1;
  library().check(library().api().all_reduce(staging_.data(), staging_.data(), count, type_of(what.type),
                                             reduction_of(what.reduction), comm(), stream()),
                  "ncclAllReduce");
  LINKSCOPE_CHECK(gpuMemcpyAsync(staged, staging_.data(), moved, gpuMemcpyDefault, stream()));
  waiting_since_ = steady_seconds();
}

void XcclTransport::collective(const SmallCollective& what, void* numbers) {
  auto* at = static_cast<std::byte*>(numbers);
  Bytes left = static_cast<Bytes>(what.count) * bytes_of(what.type);
  do {
    const Bytes bytes = std::min(left, staging_bytes);
    reduce_staged(what, at, bytes);
    packer_->synchronise();
    require_all();
    if (bytes > 0) std::memcpy(at, staged_.get(), bytes);
    at += bytes;
    left -= bytes;
  } while (left > 0);
}

void XcclTransport::begin_reduce(std::int64_t* numbers, int count) {
  reducing_ = numbers;
  reducing_bytes_ = static_cast<Bytes>(count) * sizeof *numbers;
  reduce_staged({.type = NumberType::int64, .reduction = ReduceOp::sum, .count = count}, numbers,
                reducing_bytes_);
}

bool XcclTransport::reduced() {
  if (!idle()) return false;
  std::memcpy(reducing_, staged_.get(), reducing_bytes_);
  return true;
}

void XcclTransport::look() {
  if (++looks_ % looks_between_questions != 0) return;
  require_all();
  ranks_->communicator->watch();
  const Seconds now = steady_seconds();
  if (now - last_look_ > new_wait) waiting_since_ = now;
  last_look_ = now;
  if (now - waiting_since_ > longest_wait)
    throw Error(Fault::broken, library().name() + " has not moved the messages of rank " +
                                   std::to_string(rank_) + " within " +
                                   std::to_string(static_cast<int>(longest_wait)) + " s");
  std::this_thread::yield();
}

void XcclTransport::require_all() const {
  if (ranks_->given_up.load(std::memory_order_acquire))
    throw Error(Fault::broken, "another rank of this process has failed");
}

/// Calls and kernels that wait for this rank return.
void XcclTransport::give_up() noexcept {
  ranks_->given_up.store(true, std::memory_order_release);
  if (ranks_->communicator != nullptr) ranks_->communicator->abort();
}

}  // namespace linkscope::workload
