// Numbers that only one call has, written before it and looked for after it, by the blocks that carry it out.
#include "self_checks.hpp"

#include "backend/gpu/vendor/check.hpp"
#include "collective/kernels/packet_port.hpp"
#include "collective/kernels/peer_calls.hpp"
#include "collective/kernels/push_port.hpp"
#include "collective/kernels/ring_port.hpp"
#include "model/elements.hpp"

namespace linkscope::direct {
namespace {

constexpr Bytes element = sizeof(std::int32_t);
using gpu::vendor::Counter;

/// Of one GPU.
struct Counts {
  Counter checked, wrong, wrong_call;
};
__device__ Counts counts;

/// A member's whole source and destination as pieces (Pieces, with 64 bits), for kernels on peers' buffers, which are
/// given parts of them alone.
struct PeerBuffersOfMember {
  Bytes piece_bytes = 0;
  Bytes total = 0;  ///< where pieces end
  int source_pieces = 0;
  int destination_pieces = 0;
  Bytes step = 0;  ///< from piece to piece, of source and destination
  Bytes index_step =
      0;  ///< elements of piece p of the destination are numbered from index_base + p * index_step on
  Bytes index_base = 0;  ///< bytes
  int origin = -1;       ///< the member whose numbers a copy brings; -1: the one that the piece is for
  std::byte* source = nullptr;
  const std::byte* destination = nullptr;
};
__device__ PeerBuffersOfMember peer_buffers[most_members];

/// One thread's count.
class Tally {
 public:
  __device__ void look(std::uint64_t call, int found, int expected) {
    ++checked_;
    if (found == expected) return;
    ++wrong_;
    wrong_call_ = call;
  }
  /// Adds it to the GPU's, once.
  __device__ void tell() const {
    add(counts.checked, checked_);
    if (wrong_ == 0) return;
    add(counts.wrong, wrong_);
    counts.wrong_call = wrong_call_;
  }

 private:
  __device__ static void add(Counter& sum, Counter count) {
    gpu::vendor::atomic_add<gpu::vendor::Scope::device>(&sum, count);
  }

  Counter checked_ = 0;
  Counter wrong_ = 0;
  Counter wrong_call_ = 0;
};

/// Ends of packets: nothing is read from a member's buffers nor written to them.
template <Combine combine>
class CheckedEnds {
 public:
  __device__ explicit CheckedEnds(const PacketWork& exchange) : work_(exchange) {}

  __device__ void begin(std::uint64_t call) { call_ = call; }
  __device__ void finish() { tally_.tell(); }

  __device__ std::uint64_t word(int piece, Extent at) const {
    const Extent index =
        (work_.pieces.source_step * static_cast<Extent>(piece) + at) / static_cast<Extent>(element);
    const auto number = [&](Extent i) {
      return static_cast<std::uint32_t>(input_element(call_, work_.pieces.me, i));
    };
    return number(index) | static_cast<std::uint64_t>(number(index + 1)) << 32U;
  }
  __device__ gpu::vendor::WordPair pair(int piece, Extent at) const {
    return {word(piece, at), word(piece, at + sizeof(std::uint64_t))};
  }
  __device__ void put_word(int piece, Extent at, std::uint64_t word) {
    for (unsigned i = 0; i < 2; ++i, at += static_cast<Extent>(element)) {
      if (work_.pieces.rest(piece, work_.pieces.destination_step, at) == 0) continue;
      tally_.look(call_, static_cast<int>(word >> (32U * i)), expected(piece, at));
    }
  }
  __device__ void put_pair(int piece, Extent at, const gpu::vendor::WordPair& pair) {
    put_word(piece, at, pair.first);
    put_word(piece, at + sizeof(std::uint64_t), pair.second);
  }

 private:
  __device__ int expected(int piece, Extent at) const {
    const Pieces& pieces = work_.pieces;
    const int from = combine == Combine::sum ? piece : pieces.me;
    const Extent index = (pieces.source_step * static_cast<Extent>(from) + at) / static_cast<Extent>(element);
    return combine == Combine::sum ? summed_element(call_, pieces.members, index)
                                   : input_element(call_, piece, index);
  }

  const PacketWork& work_;
  std::uint64_t call_ = 0;
  Tally tally_;
};

/// Calls `what` with the byte offset, within a piece and within the buffer, of each of this thread's elements of
/// `pieces` pieces: those of the tiles that are this block's in every member.
template <class What>
__device__ void each_of_peers(const PeerBuffersOfMember& buffers, int pieces, const What& what) {
  for (int piece = 0; piece < pieces; ++piece) {
    const Bytes begin = buffers.step * static_cast<Bytes>(piece);
    const Bytes rest = begin < buffers.total ? buffers.total - begin : 0;
    const Bytes length = rest < buffers.piece_bytes ? rest : buffers.piece_bytes;
    for (Bytes tile = blockIdx.x; tile * tile_bytes() < length; tile += gridDim.x) {
      for (Bytes i = threadIdx.x * element; i < tile_bytes(); i += blockDim.x * element) {
        const Bytes at = tile * tile_bytes() + i;
        if (at < length) what(piece, at, begin + at);
      }
    }
  }
}

template <Combine combine>
struct PeerChecks {
  __device__ static void begin(const PeerWork& work, std::uint64_t call) {
    const PeerBuffersOfMember& buffers = peer_buffers[work.peers.me];
    each_of_peers(buffers, buffers.source_pieces, [&](int /*piece*/, Bytes /*at*/, Bytes place) {
      *reinterpret_cast<int*>(buffers.source + place) = input_element(call, work.peers.me, place / element);
    });
  }
  __device__ static void end(const PeerWork& work, std::uint64_t call) {
    const PeerBuffersOfMember& buffers = peer_buffers[work.peers.me];
    Tally tally;
    each_of_peers(buffers, buffers.destination_pieces, [&](int piece, Bytes at, Bytes place) {
      const std::uint64_t index =
          (buffers.index_base + buffers.index_step * static_cast<Bytes>(piece) + at) / element;
      const int expected = combine == Combine::sum
                               ? summed_element(call, work.peers.members, index)
                               : input_element(call, buffers.origin < 0 ? piece : buffers.origin, index);
      tally.look(call, *reinterpret_cast<const int*>(buffers.destination + place), expected);
    });
    tally.tell();
  }
};

/// Writes the numbers of `call` where `each` says that this block's elements of the source are.
template <class Each>
__device__ void write_chunks(const ChunkWork& work, std::uint64_t call, const Each& each) {
  auto* const source = const_cast<std::byte*>(work.source);
  each([&](int /*share*/, Bytes at) {
    *reinterpret_cast<int*>(source + (at - work.source_at)) =
        input_element(call, work.peers.me, at / element);
  });
  __syncthreads();
}

/// Compares what this block has brought to `result`: sums, or what members have as their shares.
template <class Each>
__device__ void check_chunks(const ChunkWork& work, std::uint64_t call, const std::byte* result,
                             Combine combine, const Each& each) {
  __syncthreads();  // all of the block's results are there
  Tally tally;
  each([&](int share, Bytes at) {
    const int expected = combine == Combine::sum ? summed_element(call, work.peers.members, at / element)
                                                 : input_element(call, share, at / element);
    tally.look(call, *reinterpret_cast<const int*>(result + (at - work.destination_at)), expected);
  });
  tally.tell();
  __syncthreads();  // all have looked before the block goes on to the next call
}

/// Calls `what` with a share's owner and where in the whole this thread's elements of this pair's chunks are, in the
/// shares of `owners`.
template <class What>
__device__ void each_of_pushes(const PushCut& cut, MemberSet owners, const What& what) {
  const unsigned pair = blockIdx.x / 2;
  for (int owner = 0; owner < cut.members; ++owner) {
    if (!holds(owners, owner)) continue;
    for (std::uint32_t round = 0; round < cut.rounds(owner, pair); ++round) {
      const PushCut::Piece piece = cut.piece(owner, pair, round);
      for (Bytes at = threadIdx.x * element; at < piece.bytes; at += blockDim.x * element)
        what(owner, piece.at + at);
    }
  }
}

struct PushChecks {
  __device__ static void begin(const PushWork& work, std::uint64_t call) {
    if (blockIdx.x % 2 != 0) return;  // a summer
    write_chunks(work, call,
                 [&](const auto& what) { each_of_pushes(work.cut, all_of(work.cut.members), what); });
  }
  __device__ static void end(const PushWork& work, std::uint64_t call) {
    check_chunks(work, call, work.destinations[work.peers.me], Combine::sum,
                 [&](const auto& what) { each_of_pushes(work.cut, work.cut.results, what); });
  }
};

/// Calls `what` with a share's number and where in the whole this thread's elements of it are, of this block's chunks.
template <class What>
__device__ void each_of_ring(const RingCut& cut, MemberSet shares, const What& what) {
  for (int share = 0; share < cut.shares; ++share) {
    if (!holds(shares, share)) continue;
    const Bytes begin = cut.share * static_cast<Bytes>(share);
    for (std::uint32_t round = 0; round < cut.rounds(blockIdx.x); ++round) {
      const Bytes first = (Bytes{round} * cut.workers + blockIdx.x) * cut.chunk;
      const Bytes whole = cut.length(share);
      const Bytes end = first + cut.chunk < whole ? first + cut.chunk : whole;
      for (Bytes at = first + threadIdx.x * element; at < end; at += blockDim.x * element)
        what(share, begin + at);
    }
  }
}

struct RingChecks {
  __device__ static void begin(const RingWork& work, std::uint64_t call) {
    write_chunks(work, call, [&](const auto& what) { each_of_ring(work.cut, work.cut.sources(), what); });
  }
  __device__ static void end(const RingWork& work, std::uint64_t call) {
    check_chunks(work, call, work.destination, work.cut.sums() ? Combine::sum : Combine::copy,
                 [&](const auto& what) { each_of_ring(work.cut, work.cut.results(), what); });
  }
};

PeerBuffersOfMember buffers_of(const CollectiveShape& shape, Division division, int member,
                               const Arenas& arenas) {
  using Kind = CollectiveKind;
  const Bytes block = shape.bytes / static_cast<Bytes>(shape.members);
  const bool in_blocks =
      shape.kind == Kind::reduce_scatter || shape.kind == Kind::all_gather || shape.kind == Kind::all_to_all;
  const bool divided = division == Division::two_shot;
  PeerBuffersOfMember buffers;
  buffers.step = in_blocks ? block : divided ? share_of(shape.bytes, shape.members) : shape.bytes;
  buffers.piece_bytes = buffers.step;
  buffers.total = shape.bytes;
  const int pieces = in_blocks || divided ? shape.members : 1;
  buffers.source_pieces = shape.sends(member) ? (shape.kind == Kind::all_gather ? 1 : pieces) : 0;
  buffers.destination_pieces = shape.receives(member) ? (shape.kind == Kind::reduce_scatter ? 1 : pieces) : 0;
  buffers.index_step = in_blocks ? 0 : buffers.step;
  const bool of_own_block = shape.kind == Kind::reduce_scatter || shape.kind == Kind::all_to_all;
  buffers.index_base = of_own_block ? block * static_cast<Bytes>(member) : 0;
  buffers.origin = shape.kind == Kind::broadcast ? 0 : -1;
  buffers.source = address_of(arenas.source);
  buffers.destination = address_of(arenas.destination);
  return buffers;
}

template <class Form>
const void* packet_kernel_of(const AlgorithmRow& row, Combine combine) {
  const auto kernel = [](auto trips, auto combined) {
    return reinterpret_cast<const void*>(
        &exchange_packets<Form, trips(), combined(), Int32, CheckedEnds<combined()>>);
  };
  using Sum = std::integral_constant<Combine, Combine::sum>;
  using Copy = std::integral_constant<Combine, Combine::copy>;
  using One = std::integral_constant<Trips, Trips::one>;
  using Two = std::integral_constant<Trips, Trips::two>;
  if (combine == Combine::copy) return kernel(One(), Copy());
  return row.trips == Trips::two ? kernel(Two(), Sum()) : kernel(One(), Sum());
}

/// Calls `what` with each GPU current.
template <class What>
void on_each_gpu(const What& what) {
  int gpus = 0;
  LINKSCOPE_CHECK(gpuGetDeviceCount(&gpus));
  for (int device = 0; device < gpus; ++device) {
    LINKSCOPE_CHECK(gpuSetDevice(device));
    what();
  }
}

}  // namespace

const void* self_checking_kernel(const CollectiveShape& shape, const LaunchChoice& choice, int member,
                                 const Arenas& arenas) {
  const AlgorithmRow& row = row_of(choice.algorithm);
  const Combine combine = combine_of(shape.kind);
  switch (row.family) {
    case Family::packets:
      return row.format == Format::pairs ? packet_kernel_of<PairFormat>(row, combine)
                                         : packet_kernel_of<LineFormat>(row, combine);
    case Family::peers: {
      const PeerBuffersOfMember buffers = buffers_of(shape, row.division, member, arenas);
      LINKSCOPE_CHECK(cudaMemcpyToSymbol(peer_buffers, &buffers, sizeof buffers,
                                         static_cast<std::size_t>(member) * sizeof buffers));
      return combine == Combine::sum ? reinterpret_cast<const void*>(
                                           &work_on_peers<Combine::sum, Int32, PeerChecks<Combine::sum>>)
                                     : reinterpret_cast<const void*>(
                                           &work_on_peers<Combine::copy, Int32, PeerChecks<Combine::copy>>);
    }
    case Family::pushes:
      return reinterpret_cast<const void*>(&make_calls<PushPort<Int32, PushChecks>>);
    case Family::rings:
      return reinterpret_cast<const void*>(&make_calls<RingPort<Int32, RingChecks>>);
  }
  return nullptr;
}

CheckedElements checked_elements() {
  CheckedElements all;
  on_each_gpu([&] {
    Counts own{};
    LINKSCOPE_CHECK(cudaMemcpyFromSymbol(&own, counts, sizeof own));
    all.checked += own.checked;
    all.wrong += own.wrong;
    if (own.wrong > 0) all.wrong_call = own.wrong_call;
  });
  return all;
}

void forget_checks() {
  on_each_gpu([] {
    const Counts none{};
    LINKSCOPE_CHECK(cudaMemcpyToSymbol(counts, &none, sizeof none));
  });
}

}  // namespace linkscope::direct
