#pragma once

#include "sim/model/events.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

namespace stagecraft {

/// The longest path through a run whose lanes are all strict: each operation starts when its lanes' operations before
/// it and its dependencies have ended. Spans come in the order of the operations.
/// **Requires** no exclusive link on any route, no memory delta of a transfer on a device, and no event but noise from
/// a time on.
void evaluate_in_one_pass(const Platform& platform, const OpSource& source, const Events& events, const SpanSink& sink);

}  // namespace stagecraft
