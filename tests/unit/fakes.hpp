// Fakes: a transfer and a gate that return stated times, after hyperfine's mock executor.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "model/transfer.hpp"

namespace linkscope {

/// Says how long it takes; remembers what it was asked.
class FakeTransfer : public Transfer {
 public:
  explicit FakeTransfer(Seconds time) : time([time] { return time; }) {}
  explicit FakeTransfer(std::function<Seconds()> time) : time(std::move(time)) {}

  void arm(std::uint64_t seed) override {
    armed.push_back(seed);
    transfers = 0;
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    const bool added_up = facts().accumulates && transfers != 1;
    const bool bad = wrong_in_round == armed.size() || seed != armed.back() || added_up;
    return bad ? std::optional(Mismatch{"byte 64 of 1024 arrived wrong"}) : std::nullopt;
  }
  [[nodiscard]] std::optional<Mismatch> fault() const override {
    if (used.empty() || used != faulty) return std::nullopt;
    if (found_wrong) throw Error(Fault::mismatch, "3 elements were wrong");
    return Mismatch{"member 1 did not come"};
  }
  [[nodiscard]] Bytes verified_bytes() const override { return 1024; }
  void flush() override { ++flushes; }
  void use(const Setting& setting) override { used = setting; }
  [[nodiscard]] Span counted(const Span& span) override {
    return {span.start, span.start + counted_share * span.length(), span.idle};
  }

  /// For tests to change.
  using Transfer::own_facts;

  std::function<Seconds()> time;
  std::size_t wrong_in_round = 0;
  double counted_share = 1;
  Seconds between = 0;  ///< of each transfer, besides its time
  Setting used;
  Setting faulty;            ///< the candidate with which fault() has something to say
  bool found_wrong = false;  ///< it is wrong data
  std::function<Interference()> interference = [] {
    return Interference{};
  };  ///< of a start, whose span grows by `apart`
  std::vector<std::uint64_t> armed;
  std::uint64_t transfers = 0;  ///< since arm()
  int flushes = 0;
};

/// Runs fake transfers on a clock of its own, which advances by the longest lane.
class FakeGate : public Gate {
 public:
  [[nodiscard]] Support accepts(const Transfer& transfer) const override {
    return dynamic_cast<const FakeTransfer*>(&transfer) != nullptr ? Support::yes() : Support::no("no fake");
  }
  void hold(const std::vector<Lane>& lanes, Clock /*clock*/) override { held = lanes; }
  void open() override { ++runs; }
  std::vector<Span> collect() override {
    if (fault) throw Error(*fault, "the gate broke");
    std::vector<Span> spans;
    Seconds end = now;
    for (const Lane& lane : held) {
      auto& transfer = dynamic_cast<FakeTransfer&>(*lane.transfer);
      transfer.transfers += lane.repeats + lane.tail;
      const Seconds time = transfer.time();
      const Seconds between = static_cast<double>(lane.repeats) * transfer.between;
      const Seconds stamp = now + static_cast<double>(lane.repeats) * time + between;
      const Interference by = transfer.interference();
      spans.push_back(
          {now, stamp + by.apart, stamp + by.apart + static_cast<double>(lane.tail) * time, between, by});
      end = std::max(end, spans.back().idle);
    }
    now = end;
    return spans;
  }
  [[nodiscard]] Seconds resolution(Clock /*clock*/) const override { return finest; }
  [[nodiscard]] std::vector<Seconds> clock_errors() const override { return errors; }

  std::vector<Seconds> errors;  ///< of its devices' clocks
  Seconds now = 1000;
  Seconds finest = 0;
  int runs = 0;
  std::optional<Fault> fault;
  std::vector<Lane> held;
};

}  // namespace linkscope
