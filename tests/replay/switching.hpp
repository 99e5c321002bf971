#pragma once

#include "sim/schedule/lower.hpp"
#include "tests/schedule/chains.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft::testing {

/// A plan that is to follow at the first question whose earliest microbatch is `from` or a later one.
struct Following {
  std::int64_t from = 0;
  Plan plan;
};

/// Has the plans follow one after the other.
inline LowerOptions switching(std::vector<Following> plans, Migrating migrating) {
  const auto start = [plans = std::move(plans)] {
    return [plans, next = std::size_t{0}](const Observation&, const RunPosition& position) mutable {
      if (next == plans.size() || position.earliest < plans[next].from) return ReplanAnswer();
      const std::int64_t whole = position.whole;
      const std::int64_t first = (position.earliest + whole - 1) / whole * whole;
      return ReplanAnswer{.change = PlanSwitch{plans[next++].plan, first}};
    };
  };
  LowerOptions options;
  options.replanning = Replanning{.start = start, .window = 1, .migrating = migrating};
  return options;
}

/// The first stage has the layers before `cuts[0]` of a chain, and so on, each on a device of its own.
inline Plan cut_at(const std::vector<std::size_t>& cuts, std::size_t layers, std::int64_t microbatches) {
  Plan plan = straight(cuts.size() + 1, microbatches, "pipedream");
  std::size_t layer = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    plan.stages[s].layers.clear();
    const std::size_t end = s < cuts.size() ? cuts[s] : layers;
    for (; layer < end; ++layer) plan.stages[s].layers.emplace_back(layer);
  }
  return plan;
}

}  // namespace stagecraft::testing
