#pragma once

#include "sim/model/events.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

namespace stagecraft {

/// Runs the operations of `source` without contention: every transfer gets the bandwidth of its route's narrowest link,
/// whoever else uses it. Device order, channels, exclusive links, latencies, speeds and events are honoured. This is
/// the reference that replay is tested against and the planners' cheap oracle.
///
/// The sink gets the spans in the order of their starts, or of each device alone: `evaluates_in_start_order` tells.
/// **Throws** InternalError if operations are left that can never start.
/// **Cost** O(operations + dependencies) when `source.one_pass` and nothing is exclusive or changes, else times the
/// logarithm of the operations under way.
void evaluate(const Platform& platform, OpSource source, const Events& events, const SpanSink& sink);

/// Whether `evaluate` would report all spans in the order of their starts: what `Summary` asks for.
[[nodiscard]] bool evaluates_in_start_order(const Platform& platform, const OpSource& source, const Events& events);

}  // namespace stagecraft
