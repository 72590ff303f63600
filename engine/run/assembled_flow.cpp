// Slots, arenas, parts and who has them.
#include "run/assembled_flow.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "model/pattern.hpp"
#include "run/remote_transfer.hpp"

namespace linkscope {
namespace {

constexpr Bytes vector_bytes = 16;               // what GPUs' threads move at a time, aligned
constexpr Bytes largest_flow = Bytes{1} << 48U;  // beyond any machine's memory, far from overflow

/// Slots of whole vectors (below that, words) touch, so that one pass checks them all; none starts inside a vector.
Bytes in_units(Bytes bytes) {
  const Bytes unit = bytes < vector_bytes ? word_bytes : vector_bytes;
  return (bytes + unit - 1) / unit * unit;
}

Rotation rotation_of(const Method& method, const Flow& flow, Cache cache) {
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

}  // namespace

AssembledFlow FlowAssembler::assemble(const BoundFlow& flow, const Regime& regime) {
  const std::vector<FlowPart> parts = flow.method.parts_of(flow.flow);
  AssembledFlow assembled;
  std::vector<LocalPart> own;
  consensus_->collective_try([&] { own = own_parts(flow, parts, regime, assembled); });
  // To assemble may be collective (the first flow of MPI starts MPI): not before all have their memory.
  consensus_->collective_try([&] {
    if (own.empty() && flow.method.reach() == Reach::process) {
      assembled.local_parts = std::make_unique<NoParts>();
      return;
    }
    try {
      assembled.local_parts = flow.method.prepare_parts(flow.flow, own);
    } catch (const Error& error) {
      if (error.fault() != Fault::no_memory) throw;
      pool_->evict_unused();  // what earlier cases left there may be in the way
      assembled.local_parts = flow.method.prepare_parts(flow.flow, own);
    }
  });
  connect(parts, assembled);
  return assembled;
}

/// Arenas of all parts in this process.
std::vector<LocalPart> FlowAssembler::own_parts(const BoundFlow& flow, const std::vector<FlowPart>& parts,
                                                const Regime& regime, AssembledFlow& assembled) {
  const Rotation rotation = rotation_of(flow.method, flow.flow, regime.cache);
  const Bytes usual = arena_bytes(rotation, flow.method.footprint(flow.flow));
  const auto arena = [&](const std::optional<Endpoint>& end, Bytes own_bytes) -> Buffer* {
    const Bytes bytes = own_bytes > 0 ? own_bytes : usual;
    if (!end || bytes == 0) return nullptr;
    if (bytes > largest_flow)
      throw Error(Fault::no_memory, format_bytes(bytes) + " are more than any machine holds");
    assembled.leases.push_back(pool_->acquire(flow.memory_of(*end), *end, bytes));
    return &assembled.leases.back().buffer();
  };
  std::vector<LocalPart> own;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].rank != consensus_->group().rank()) continue;
    const FlowPart& part = parts[i];
    Buffer* const source = arena(part.source, part.source_bytes);
    own.push_back({i, {source, arena(part.destination, part.destination_bytes), rotation}, regime});
  }
  return own;
}

/// What the other processes must know of this one's parts, in order; nothing where there are no others.
Json FlowAssembler::own_statements(const PreparedParts& local_parts) const {
  Json own = Json::array();
  for (const Transfer* transfer : local_parts.transfers()) {
    const Support accepted = gate_->accepts(*transfer);
    if (!accepted) throw Error(Fault::unsupported, accepted.reason());
    own.push_back(consensus_->group().size() == 1 ? Json() : statement_of(*transfer));
  }
  return own;
}

/// Lets the processes know of one another's parts, and stands in for those that are elsewhere.
void FlowAssembler::connect(const std::vector<FlowPart>& parts, AssembledFlow& assembled) {
  PreparedParts& local_parts = *assembled.local_parts;
  const std::vector<std::string> exports =
      consensus_->allgather([&] { return local_parts.export_handles(); });
  const std::vector<Json> statements = consensus_->allgather_json([&] {
    local_parts.import_handles(exports);
    return own_statements(local_parts);
  });
  const std::vector<Transfer*> here = local_parts.transfers();
  std::vector<std::size_t> next(statements.size(), 0);  // part of each process
  for (const FlowPart& part : parts) {
    const auto rank = static_cast<std::size_t>(part.rank);
    const std::size_t ordinal = next.at(rank)++;
    if (part.rank == consensus_->group().rank()) {
      assembled.parts.push_back({here.at(ordinal), part.timing});
    } else {
      assembled.elsewhere.push_back(std::make_unique<RemoteTransfer>(statements[rank].at(ordinal)));
      assembled.parts.push_back({assembled.elsewhere.back().get(), part.timing});
    }
  }
}

bool repeats_one_slot(const BoundFlow& flow, Cache cache) {
  return cache == Cache::rotated && flow.method.footprint(flow.flow) > 0 &&
         flow.method.rotation_bytes(flow.flow) == 0;
}

}  // namespace linkscope
