#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/origin.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"

#include <map>
#include <utility>

namespace stagecraft {

struct Plan;

/// What the time of a device rests on.
enum class BasisInput {
  Times,        ///< of layers: forwards, backwards, recomputation
  Links,        ///< transfers that are waited for
  Collectives,  ///< all-reduces and what is waited for them
  Updates,      ///< of weights
};

/// The share of all devices' time without idle time that rests on an input of some origin. Shares add up to 1.
using Basis = std::map<std::pair<BasisInput, Origin>, double>;

/// Empty if no device ever works. The time of a device with several replicas is divided by their layers' times.
/// **Cost** O(replicas × layers of a stage).
[[nodiscard]] Basis basis_of(const LayerGraph& graph, const Platform& platform, const Plan& plan, const Report& report);

}  // namespace stagecraft
