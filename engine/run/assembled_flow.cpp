// Slots, arenas, parts and who has them.
#include "run/assembled_flow.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "model/pattern.hpp"
#include "run/process_group_gate.hpp"

namespace linkscope {
namespace {

constexpr Bytes vector_bytes = 16;               // what GPUs' threads move at a time, aligned
constexpr Bytes largest_flow = Bytes{1} << 48U;  // beyond any machine's memory, far from overflow

/// Slots of whole vectors (below that, words) touch, so that one pass checks them all; none starts inside a vector.
Bytes in_units(Bytes bytes) { return round_up(bytes, bytes < vector_bytes ? word_bytes : vector_bytes); }

Rotation rotation_of(const Flow& flow, Cache cache) {
  const Method& method = method_of(flow);
  const Bytes bytes = method.footprint(flow);
  if (std::max(bytes, flow.bytes) > largest_flow)
    throw Error(Fault::no_memory,
                format_bytes(std::max(bytes, flow.bytes)) + " are more than any machine holds");
  if (bytes == 0) return {0, 1};
  if (cache != Cache::rotated) return {in_units(bytes), 1};
  const Bytes stride = in_units(method.stride(flow));
  return {stride, std::max<Bytes>(1, (method.rotation_bytes(flow) + stride - 1) / stride)};
}

/// What holds all slots of a rotation, the last one's whole footprint included.
Bytes arena_bytes(const Rotation& rotation, Bytes footprint) {
  if (footprint == 0) return 0;
  return (rotation.slots - 1) * rotation.stride + std::max(rotation.stride, in_units(footprint));
}

/// One of the two ends that a part may have, and its arena.
struct PartEnd {
  std::optional<Endpoint> FlowPart::* where;
  Bytes FlowPart::* bytes;
  Buffer* Arenas::* buffer;
};
constexpr PartEnd part_ends[] = {
    {&FlowPart::source, &FlowPart::source_bytes, &Arenas::source},
    {&FlowPart::destination, &FlowPart::destination_bytes, &Arenas::destination}};

/// An arena in memory that all processes allocate together.
struct SharedArena {
  const Memory* memory = nullptr;
  std::vector<Endpoint> everywhere;  ///< by rank; a process without a part has it where one with a part has
  std::vector<Bytes> needs;          ///< of each part; 0: what the method says
  Buffer** buffer = nullptr;         ///< where this process's part wants it; null where it has none
};

/// Returns the kind of memory of an end of one of the flow's parts, which is one of the flow's.
const Memory& memory_of(const Flow& flow, const Endpoint& end) {
  for (const Endpoint* own : ends_of(flow)) {
    if (*own == end) return *own->kind;
  }
  throw Error(Fault::broken, flow.method + " has a part with an end that is none of the flow's");
}

/// Returns those of a flow, in one order in all processes: the n-th parts of all processes share an arena for their
/// sources, and one for their destinations. `arenas`: of the parts.
std::vector<SharedArena> shared_arenas(const Flow& flow, const std::vector<FlowPart>& parts,
                                       const ProcessGroup& group, std::vector<Arenas>& arenas) {
  std::vector<SharedArena> all;
  for (const PartEnd& end : part_ends) {
    std::map<std::pair<std::string, std::size_t>, SharedArena> by_memory;  // and n
    std::map<std::pair<std::string, int>, std::size_t> parts_so_far;       // by memory and rank
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::optional<Endpoint>& where = parts[i].*end.where;
      if (!where || !where->traits.collective_allocation) continue;
      SharedArena& arena = by_memory[{where->memory, parts_so_far[{where->memory, parts[i].rank}]++}];
      arena.memory = &memory_of(flow, *where);
      arena.needs.push_back(parts[i].*end.bytes);
      arena.everywhere.resize(static_cast<std::size_t>(group.size()), *where);
      arena.everywhere.at(static_cast<std::size_t>(parts[i].rank)) = *where;
      if (parts[i].rank == group.rank()) arena.buffer = &(arenas[i].*end.buffer);
    }
    for (auto& [key, arena] : by_memory) {
      for (int rank = 0; rank < group.size(); ++rank)
        arena.everywhere[static_cast<std::size_t>(rank)].rank = rank;
      all.push_back(std::move(arena));
    }
  }
  return all;
}

/// Makes a flow ready, together with the other processes of the run.
class FlowAssembler {
 public:
  FlowAssembler(const Gate& gate, ProcessGroup& group, BufferPool& pool)
      : gate_(&gate), group_(&group), pool_(&pool) {}

  AssembledFlow assemble(const Flow& flow, const Regime& regime) {
    const Method& method = method_of(flow);
    const std::vector<FlowPart> parts = method.parts_of(flow);
    AssembledFlow assembled;
    std::vector<LocalPart> own;
    try {
      own = lease_arenas(flow, parts, regime, assembled);
    } catch (const Error& error) {
      assembled.leases.clear();
      // All processes catch the same failure here, and have the same to evict.
      if (error.fault() != Fault::no_memory || !pool_->evict_together()) throw;
      own = lease_arenas(flow, parts, regime, assembled);
    }
    // To assemble may be collective (the first flow of MPI starts MPI): not before all have their memory.
    group_->collective_try([&] {
      if (own.empty() && method.reach() == Reach::process) {
        assembled.local_parts = std::make_unique<PreparedParts>();
        return;
      }
      try {
        assembled.local_parts = method.prepare_parts(flow, own);
      } catch (const Error& error) {
        if (error.fault() != Fault::no_memory) throw;
        pool_->evict_unused();  // what earlier cases left there may be in the way
        assembled.local_parts = method.prepare_parts(flow, own);
      }
    });
    connect(parts, assembled);
    return assembled;
  }

 private:
  /// Returns the parts of this process with their memory. A collective call.
  [[nodiscard]] std::vector<LocalPart> lease_arenas(const Flow& flow, const std::vector<FlowPart>& parts,
                                                    const Regime& regime, AssembledFlow& assembled) {
    std::vector<Arenas> arenas = lease_together(flow, parts, regime, assembled);
    std::vector<LocalPart> own;
    group_->collective_try([&] {
      const Rotation rotation = rotation_of(flow, regime.cache);
      const Bytes usual = arena_bytes(rotation, method_of(flow).footprint(flow));
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].rank != group_->rank()) continue;
        for (const PartEnd& end : part_ends) {
          const std::optional<Endpoint>& where = parts[i].*end.where;
          const Bytes bytes = parts[i].*end.bytes > 0 ? parts[i].*end.bytes : usual;
          if (!where || bytes == 0 || arenas[i].*end.buffer != nullptr) continue;
          if (bytes > largest_flow)
            throw Error(Fault::no_memory, format_bytes(bytes) + " are more than any machine holds");
          assembled.leases.push_back(pool_->acquire(memory_of(flow, *where), *where, bytes));
          arenas[i].*end.buffer = assembled.leases.back().get();
        }
        arenas[i].rotation = rotation;
        own.push_back({i, arenas[i], regime});
      }
    });
    return own;
  }

  /// Leases the arenas in memory that all processes allocate together, and returns this process's, by part. They are as large
  /// as any process needs: caches, and so rotations, may differ.
  [[nodiscard]] std::vector<Arenas> lease_together(const Flow& flow, const std::vector<FlowPart>& parts,
                                                   const Regime& regime, AssembledFlow& assembled) {
    std::vector<Arenas> arenas(parts.size());
    const std::vector<SharedArena> shared = shared_arenas(flow, parts, *group_, arenas);
    if (shared.empty()) return arenas;
    const std::vector<Json> needs = group_->allgather_json([&]() -> Json {
      const Rotation rotation = rotation_of(flow, regime.cache);
      const Bytes usual = arena_bytes(rotation, method_of(flow).footprint(flow));
      Json own = Json::array();
      for (const SharedArena& arena : shared) {
        Bytes most = 0;
        for (const Bytes need : arena.needs) most = std::max(most, need > 0 ? need : usual);
        if (most > largest_flow)
          throw Error(Fault::no_memory, format_bytes(most) + " are more than any machine holds");
        own.push_back(most);
      }
      return own;
    });
    for (std::size_t i = 0; i < shared.size(); ++i) {
      Bytes most = 0;
      for (const Json& own : needs) most = std::max(most, own.at(i).get<Bytes>());
      if (most == 0) continue;
      assembled.leases.push_back(
          pool_->acquire_together(*shared[i].memory, shared[i].everywhere, most, *group_));
      if (shared[i].buffer != nullptr) *shared[i].buffer = assembled.leases.back().get();
    }
    return arenas;
  }

  /// What the other processes must know of this one's parts, in order; nothing where there are no others.
  [[nodiscard]] Json own_statements(const PreparedParts& local_parts) const {
    Json own = Json::array();
    for (const Transfer* transfer : local_parts.transfers()) {
      const Support accepted = gate_->accepts(*transfer);
      if (!accepted) throw Error(Fault::unsupported, accepted.reason());
      own.push_back(group_->size() == 1 ? Json() : statement_of(*transfer));
    }
    return own;
  }

  /// Lets the processes know of one another's parts, and stands in for those that are elsewhere.
  void connect(const std::vector<FlowPart>& parts, AssembledFlow& assembled) {
    PreparedParts& local_parts = *assembled.local_parts;
    const std::vector<std::string> exports =
        group_->allgather_words([&] { return local_parts.export_handles(); });
    const std::vector<Json> statements = group_->allgather_json([&] {
      local_parts.import_handles(exports);
      return own_statements(local_parts);
    });
    const std::vector<Transfer*> here = local_parts.transfers();
    std::vector<std::size_t> next(statements.size(), 0);  // part of each process
    for (const FlowPart& part : parts) {
      const auto rank = static_cast<std::size_t>(part.rank);
      const std::size_t ordinal = next.at(rank)++;
      if (part.rank == group_->rank()) {
        assembled.parts.push_back({here.at(ordinal), part.timing});
      } else {
        assembled.elsewhere.push_back(std::make_unique<RemoteTransfer>(statements[rank].at(ordinal)));
        assembled.parts.push_back({assembled.elsewhere.back().get(), part.timing});
      }
    }
  }

  const Gate* gate_;
  ProcessGroup* group_;
  BufferPool* pool_;
};

}  // namespace

AssembledFlow assemble(const Flow& flow, const Regime& regime, const Gate& gate, ProcessGroup& group,
                       BufferPool& pool) {
  return FlowAssembler(gate, group, pool).assemble(flow, regime);
}

}  // namespace linkscope
