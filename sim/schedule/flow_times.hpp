#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/all_reduce.hpp"

#include <vector>

namespace stagecraft {

/// The share of the bandwidth of their links that flows reach inside a node or, `between`, between nodes.
[[nodiscard]] double efficiency_of(const CollectiveSpec& spec, bool between);
[[nodiscard]] double efficiency_of(const Platform& platform, const AllReduceFlow& flow);

/// **Requires** connected members. The route of a member's flow to itself has no links.
[[nodiscard]] Route route_of(const Platform& platform, const AllReduceFlow& flow);

/// The bytes of a flow on its links: its part of [begin, end) of the gradients, rounded up over the whole, divided by
/// the platform's efficiency, inside a node or between nodes.
[[nodiscard]] Bytes flow_bytes(const Platform& platform, const AllReduceFlow& flow, Bytes begin, Bytes end);

/// By flow of a phase: the time with its latency until its links have carried what all flows of the phase bring to
/// them, of [begin, end) of the gradients. A flow that crosses an exclusive link gets the time that it takes alone: the
/// run makes it wait for its turn. **Cost** O(flows · links on a way · log links).
[[nodiscard]] std::vector<Seconds> flow_times(const Platform& platform, const AllReducePhase& phase, Bytes begin,
                                              Bytes end);

/// The least time, with latency, in which all links have carried what the flows of a phase bring to them, exclusive
/// ones one flow after the other. **Cost** as `flow_times`.
[[nodiscard]] Seconds phase_time(const Platform& platform, const AllReducePhase& phase, Bytes begin, Bytes end);

/// The latency of all steps of a phase but one, which its flows bring themselves, and that of the collective.
[[nodiscard]] Seconds latency_before(const Platform& platform, const AllReducePhase& phase);

}  // namespace stagecraft
