#pragma once

#include "sim/model/events.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

namespace stagecraft {

/// The executor over a heap of instants: what `evaluate` does when order on a lane depends on time, or something
/// changes. Spans come in the order of their starts.
void evaluate_by_events(const Platform& platform, OpSource source, const Events& events, const SpanSink& sink);

}  // namespace stagecraft
