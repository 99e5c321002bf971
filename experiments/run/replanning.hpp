#pragma once

#include "experiments/run/replan_choices.hpp"
#include "sim/model/observation.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/lower.hpp"

namespace stagecraft {

/// The platform with the speeds of its devices and the bandwidths of its links as a running training has observed them.
[[nodiscard]] Platform as_observed(Platform platform, const Observation& seen);

/// Asks the planner for a plan with the schedule, the microbatches and, unless its options say otherwise, as many
/// stages and replicas as the plan that runs. The answer replaces that plan if it fits in memory and saves enough by
/// the policy, both evaluated without contention on the platform as observed; or if the plan that runs does not fit.
///
/// The planner sees a platform without devices that are down or will leave (`platform_without`). If a device of the
/// plan is among them, any answer that fits is taken. From the first of them on it has as many stages and replicas as
/// the plan before that, if there are enough devices for them, else what the planner chooses.
/// `platform` must outlive it. The re-planner **throws** InputError as the planner does.
[[nodiscard]] Replanning replanning(const Platform& platform, const ReplanChoices& choices);

}  // namespace stagecraft
