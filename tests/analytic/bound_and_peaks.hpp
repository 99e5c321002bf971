#pragma once

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/analytic/lower_bound.hpp"
#include "sim/schedule/device_peaks.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

namespace stagecraft::testing {

/// Checks that the run is not below its bound, and that its peaks follow from the orders. Returns whether it has a
/// bound.
inline bool check_bound_and_peaks(RandomCase random) {
  if (random.plan.schedule.name == "pipedream") random.plan.microbatches = 2000;  // its bound holds in the long run
  const ScheduleProgram program = require_schedule(random.graph, random.platform, random.plan);
  const Report report = evaluate_plan(random.graph, random.platform, random.plan);
  if (const auto peaks = device_peaks(random.graph, program)) {
    for (std::size_t i = 0; i < peaks->size(); ++i) CHECK((*peaks)[i].second == report.devices[i].memory.peak);
  }
  const auto bound = lower_bound(random.graph, random.platform, program, {LowerOptions(), false});
  if (!bound) return false;
  const double time = program.synchronous ? report.iterations.back().value() : report.period->value();
  CHECK(bound->time.value() <= time * (program.synchronous ? 1 + 1e-9 : 1 + 1e-2));
  return true;
}

}  // namespace stagecraft::testing
