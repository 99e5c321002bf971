#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/training.hpp"

#include <cstdint>
#include <optional>

namespace stagecraft {

struct Plan;
struct ScheduleProgram;

/// A time that no plan of a class beats in an iteration.
///
/// The class: contiguous stages in the canonical order of one pipeline; each device in at most one stage; replicas that
/// take turns, or that divide each microbatch, on any devices, all with equal shares; a flush at the end of each
/// iteration; any order of work; any memory actions; gradients exchanged in buckets or not; the given size and number
/// of microbatches.
///
/// Plans with unequal shares are not in it: the first microbatch may then hurry through replicas with small ones, and
/// a node's own replicas may take nearly all that would cross its cards. Nor are pipelines side by side, each with cuts
/// of its own, and groups of devices.
struct ClassBound {
  Seconds time;
  Seconds work;  ///< all computing, divided among all devices: at most `time`
};

struct ClassBoundOptions {
  bool shares_links = true;      ///< transfers that meet on a link divide its bandwidth, as in `replay`
  bool splits_backwards = true;  ///< the class has schedules that run the halves of a backward apart
};

/// Layers times devices up to which the bound of a class takes well under a second.
inline constexpr std::size_t kMostLayersOnDevices = 2000;

/// The larger one of two bounds.
///
/// *Work*: the time of all layers divided among all devices by their speeds. It holds for other plans, too.
///
/// *Partition*: the least time for which plans may exist whose stages each take no longer, in any order of their work,
/// with the latencies before and after it, and whose cuts do not either (`ClassSearch`). Every layer is on the device
/// that is the fastest for it; transfers inside nodes take no time, those between nodes have the widest card;
/// all-reduces have the widest links, and may be hidden behind the last backward; updates are the fastest; parameters
/// without activations fit on the device with the most memory.
///
/// None if the parameters of no plan fit. It does not hold on the analytic network, which has no links.
/// **Requires** microbatches > 0. **Throws** InputError for a device of unknown speed.
/// **Cost** O((layers · devices)² · devices of a node) for each of some dozen times, of which little is looked at.
[[nodiscard]] std::optional<ClassBound> class_bound(const LayerGraph& graph, const Platform& platform,
                                                    const Training& training, std::int64_t microbatches,
                                                    const ClassBoundOptions& options = {});

/// Whether the plan is in the class. **Requires** a plan without violations.
[[nodiscard]] bool is_in_class(const LayerGraph& graph, const Plan& plan);

/// Whether a schedule runs halves of backwards apart, or may if its orders are given with the run.
[[nodiscard]] bool splits_backwards(const ScheduleProgram& program);

}  // namespace stagecraft
