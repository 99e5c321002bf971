#pragma once

#include "planners/shared/costs/stage_exchange.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stagecraft {

/// How long the updates of a stage wait for all-reduces after its backward.
struct ExchangeTimes {
  Seconds own = {};       ///< `ring_beyond_backward`
  Seconds gathered = {};  ///< `gather_beyond_forward`, behind the update
  ExchangesEachTime each = {};
  Seconds tied = {};  ///< of parameters in common with other stages, after the backward of the first of these
  /// Asynchronous: the updates from one all-reduce of tied parameters to the next. Only the first stage waits for it.
  std::int64_t updates_apart = 1;
  Bytes tied_bytes = {};  ///< asynchronous: the parameters that only the updates of those all-reduces change

  [[nodiscard]] Seconds longest() const { return std::max(own, tied) + gathered; }
};

/// By stage. **Throws** InputError as `ring_beyond_backward`.
[[nodiscard]] std::vector<ExchangeTimes> exchange_times(const LayerGraph& graph, const Platform& platform,
                                                        const Plan& plan);

}  // namespace stagecraft
