#pragma once

#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/workload/architecture.hpp"
#include "sim/workload/device.hpp"
#include "sim/workload/operator_cost.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// How finely times are given.
enum class TimeGrid {
  Nanoseconds,  ///< each operator rounded: a cost model is not more precise, and files are the same on every machine
  Exact,        ///< for derivatives by a constant of the device
};

/// What the times of a layer follow from.
struct LayerCosts {
  const Architecture& net;
  const IndexVector<OperatorId, OperatorCost>& of;
  Precision precision = Precision::Fp32;
  std::int64_t samples = 1;
  TimeGrid grid = TimeGrid::Nanoseconds;
};

/// Sets the times of a layer, sums over its operators, and what the members of its group exchange for them. Operators
/// are rounded one by one, so that the same operators take the same time as one layer and as several.
void set_times(Layer& layer, const std::vector<OperatorId>& operators, const LayerCosts& costs);

}  // namespace stagecraft
