// A backend of fakes: one memory on the host's heap, one method that takes a stated time.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "fakes.hpp"
#include "model/backend.hpp"

namespace linkscope {

class FakeBuffer : public Buffer {
 public:
  FakeBuffer(const Endpoint& where, Bytes bytes) : Buffer(where, bytes), bytes_(bytes) {}
  [[nodiscard]] std::byte* data() const override { return bytes_.data(); }
  void fill(Bytes, Bytes, std::uint64_t) override {}
  void poison(Bytes, Bytes) override {}
  [[nodiscard]] std::optional<Bytes> compare(Bytes, Bytes, std::uint64_t) const override {
    return std::nullopt;
  }
  void flush(Bytes, Bytes) override {}

 private:
  mutable std::vector<std::byte> bytes_;
};

/// Has `capacity` bytes; refuses what goes beyond.
class FakeMemory : public Memory {
 public:
  FakeMemory() : Memory({"pageable", "fake", pageable_traits}) {}
  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Endpoint&) const override { return Support::yes(); }
  [[nodiscard]] Support allows(const Flow&) const override {
    return objection.empty() ? Support::yes() : Support::no(objection);
  }
  [[nodiscard]] bool reusable(const Endpoint& where) const override {
    return !reusable_on || where.device.index == *reusable_on;
  }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override {
    ++allocations;
    if (refusals > 0) {
      --refusals;
      throw Error(Fault::no_memory, "out of fake memory");
    }
    return std::make_unique<FakeBuffer>(where, bytes);
  }

  std::string objection;  ///< to every flow, if anything
  mutable int allocations = 0;
  mutable int refusals = 0;
  std::optional<int>
      reusable_on;  ///< the only device where a buffer is as good as new after use; none: everywhere
};

/// What tests tell the fake method, and what it saw.
struct FakeMethod {
  Bytes through = 10'000;  ///< what rotated flows cycle through
  std::string failure;     ///< what prepare() throws, if anything
  Arenas last;             ///< its buffers live as long as the run
  Bytes last_source_bytes = 0;
};

inline constexpr Parameter fake_threads = integer("threads", "how many", 0, 1 << 20, 0);
inline constexpr Parameter fake_shapes = integer("shapes", "launch shapes offered", 0, 9, 0);
inline constexpr Parameter fake_faulty_shape =
    integer("faulty_shape", "the one with a fault, from 1", 0, 9, 0);
inline constexpr Parameter fake_wrong_in_round =
    integer("wrong_in_round", "round whose data arrives wrong", 0, 9, 0);

inline Method fake_row(std::shared_ptr<FakeMethod> fake = std::make_shared<FakeMethod>()) {
  Method row{.spec = {"memcpy", "fake"},
             .parameters = {fake_threads, fake_shapes, fake_faulty_shape, fake_wrong_in_round}};
  row.supports = [](const Flow& flow) {
    return flow.bytes == 13 ? Support::no("thirteen bytes\nbring bad luck") : Support::yes();
  };
  row.rotation_bytes = [fake](const Flow&) { return fake->through; };
  row.prepare = [fake](const Flow& flow, const Arenas& arenas) {
    if (!fake->failure.empty()) throw std::runtime_error(fake->failure);
    fake->last = arenas;
    fake->last_source_bytes = arenas.source->bytes();
    auto transfer = std::make_unique<FakeTransfer>(10e-6);
    transfer->wrong_in_round = static_cast<std::size_t>(flow.parameters.number(fake_wrong_in_round));
    for (std::int64_t shape = 1; shape <= flow.parameters.number(fake_shapes); ++shape)
      transfer->own_facts().candidates.push_back({{"blocks", shape}});
    transfer->faulty = {{"blocks", flow.parameters.number(fake_faulty_shape)}};
    return transfer;
  };
  return row;
}

struct FakeParts {
  Backend backend;
  FakeMemory* memory = nullptr;
  std::shared_ptr<FakeMethod> method = std::make_shared<FakeMethod>();
  FakeGate* gate = nullptr;
};

/// numa:0 and numa:1, memory "pageable", method "memcpy".
inline FakeParts fake_backend() {
  FakeParts parts;
  auto memory = std::make_unique<FakeMemory>();
  auto gate = std::make_unique<FakeGate>();
  parts.memory = memory.get();
  parts.gate = gate.get();
  parts.backend.name = "host";
  parts.backend.devices = {DeviceFacts{DeviceId{DeviceKind::numa, 0}, "node", 0, "", 0, {0}, {}},
                           DeviceFacts{DeviceId{DeviceKind::numa, 1}, "node", 0, "", 1, {1}, {}}};
  parts.backend.memories.push_back(std::move(memory));
  parts.backend.methods.push_back(fake_row(parts.method));
  parts.backend.gate = std::move(gate);
  return parts;
}

}  // namespace linkscope
