#pragma once

#include "sim/model/events.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

namespace stagecraft {

/// Runs the operations of `source` without contention: every transfer gets the whole bandwidth of its route's narrowest
/// link, even if others use it at the same time. Device orders, channels, exclusive links, latencies, speeds and events
/// are kept. Replay is tested against it, and planners use it because it is fast.
///
/// The sink gets the spans in the order of their starts, or only those of each device in that order;
/// `evaluates_in_start_order` says which.
/// **Throws** InternalError if operations are left that can never start.
/// **Cost** O(operations + dependencies) when `source.one_pass` and nothing is exclusive or changes, else times the
/// logarithm of the operations under way.
void evaluate(const Platform& platform, OpSource source, const Events& events, const RunSink& sink);

/// Whether `evaluate` would report all spans in the order of their starts; `Summary` needs to know it.
[[nodiscard]] bool evaluates_in_start_order(const Platform& platform, const OpSource& source, const Events& events);

}  // namespace stagecraft
