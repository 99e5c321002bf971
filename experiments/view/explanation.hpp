#pragma once

#include "experiments/run/remedy.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/traffic.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"

#include <map>
#include <string>
#include <vector>

namespace stagecraft {

struct Plan;

/// The causes behind the figures of a run.
struct Explanation {
  std::map<LinkId, Loads> loads;  ///< the traffic over each link; empty if transfers cross no links
  Remedies remedies;              ///< if the run is out of memory
};

/// **Requires** `graph`, the model at the plan's microbatch size, and a simulation of `program` with its traffic.
[[nodiscard]] Explanation explain(const Inputs& inputs, const LayerGraph& graph, const ScheduleProgram& program,
                                  const Simulation& simulation);

/// `activations 0 -> 1`, `all-reduce of stage 0`.
[[nodiscard]] std::string cause_text(const TrafficCause& cause);

/// The time that an iteration, or a microbatch in the steady state, would take if every device that the plan uses were
/// busy all the time. It is a bound on what better balance and overlap could gain.
[[nodiscard]] Seconds all_busy_time(const Report& report);

/// What the measured time of the device that computes most consists of, the largest part first.
[[nodiscard]] std::vector<Bottleneck> bottleneck_shares(const Report& report);

/// The bottleneck: those parts, after a link that is busier with the traffic that it carries; and the busiest links.
[[nodiscard]] std::string bottleneck_text(const Report& report, const Platform& platform,
                                          const Explanation& explanation);

/// One line for each sequence of consecutive places that lack the same amount.
[[nodiscard]] std::string lacking_text(const Report& report, const Platform& platform);

/// The places that lack memory, the contents of the device and of the host that lack most, and the changes that would
/// make the plan fit, numbered from 1; empty if memory sufficed.
[[nodiscard]] std::string overflow_text(const Report& report, const Platform& platform, const Remedies& remedies);

/// The changes of which each would make the plan fit, the fastest first, with its samples per second without
/// contention.
[[nodiscard]] std::vector<std::string> remedy_lines(const Remedies& remedies);

/// As `simulate --json` shows them.
[[nodiscard]] Detail::List load_list(const Loads& loads);
[[nodiscard]] Detail::Record remedy_record(const Remedies& remedies);

}  // namespace stagecraft
