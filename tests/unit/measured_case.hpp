// A case of fake transfers, measured on a clock of its own.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "fakes.hpp"
#include "measure/case_measurement.hpp"

namespace linkscope {

inline MeasuredFlow measured(FakeTransfer& transfer, Bytes bytes = 1'000'000) {
  return {{{&transfer}}, bytes, Role::measured, Quantity::bandwidth, "", {}};
}
inline MeasuredFlow background(FakeTransfer& transfer) {
  return {{{&transfer}}, 1000, Role::background, Quantity::bandwidth, "", {}};
}

struct MeasureCase : testing::Test {
  FakeGate gate;
  MeasurementSession session{{}, [this] { return gate.now; }, 1, {}};
  Regime regime;

  CaseResult run(const std::vector<MeasuredFlow>& flows, Cache cache = Cache::rotated,
                 Load load = Load::once) {
    regime.cache = cache;
    regime.load = load;
    return measure_case(session, gate, flows, regime);
  }
};

}  // namespace linkscope
