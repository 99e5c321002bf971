#pragma once

#include "sim/model/events.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

namespace stagecraft {

/// Evaluates a run whose lanes are all strict in one pass over the operations (a longest path): each operation starts
/// when its dependencies and the earlier operations of its lanes have ended. Spans arrive in the order of the
/// operations.
/// **Requires** that no route has an exclusive link, that no transfer changes the memory of a device, and that the only
/// events are noise from a given time on.
void evaluate_in_one_pass(const Platform& platform, const OpSource& source, const Events& events, const RunSink& sink);

}  // namespace stagecraft
