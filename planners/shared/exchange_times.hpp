#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <vector>

namespace stagecraft {

/// By stage: how long its updates wait for all-reduces after its backward. These are its own (`ring_beyond_backward`),
/// and those of tied parameters that it has in common with other stages, which begin when the last backward of the first
/// of them ends; in an asynchronous run only that one waits. **Throws** InputError as `ring_beyond_backward`.
[[nodiscard]] std::vector<Seconds> exchange_times(const LayerGraph& graph, const Platform& platform, const Plan& plan);

}  // namespace stagecraft
