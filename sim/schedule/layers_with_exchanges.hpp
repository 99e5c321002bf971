#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

namespace stagecraft {

/// A graph for planners that know no groups: its layers take the time of their exchanges, too, and exchange nothing any
/// more; what a member sends over a boundary is the whole of it. Likewise its own times on other kinds of device and
/// for other sizes. What a layer exchanges in its backward does not count in the part for the weights. On a slower
/// device, or one whose kind has another speed, a planner takes exchanges for slower or faster, too.
/// `whole` and `slowest` are as in `ExchangeClock`; the graph's own times keep copies.
/// **Cost** an all-reduce for each kind and size of an exchange, O(layers), and a copy of the platform.
[[nodiscard]] LayerGraph with_exchange_times(LayerGraph graph, const Platform& whole, const Group& slowest);

}  // namespace stagecraft
