#pragma once

#include "planners/planner.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace stagecraft {

/// The option `pipelines` of planners that plan one pipeline, which then may run side by side with others.
[[nodiscard]] OptionInfo pipelines_option();

/// The numbers of pipelines among which devices and microbatches can be divided equally, so that each has whole nodes
/// or nodes have whole pipelines. Of an explicit platform without nodes every divisor.
[[nodiscard]] std::vector<std::int64_t> pipeline_counts(const PlanRequest& request);

/// `PlannerInfo::variants` of a planner with the option: if it is 0 these numbers, of
/// pipelines of at most 256 devices.
[[nodiscard]] Variants pipeline_variants(const PlanRequest& request);

/// As many pipelines side by side as the option `pipelines` says, and one if it says nothing. `plan_one` plans for
/// the first devices of the platform (`first_devices`), each as slow and small as the slowest and smallest device
/// in its place in any part, and for an equal part of the microbatches. The plan gets a copy on each of the parts:
/// where stages have whole microbatches, more replicas that take turns, else, and with `spp-pe`, another pipeline
/// (`Stage::pipeline`). It is judged on the whole platform, and its claim is the evaluated time. One pipeline is
/// the plan of `plan_one` as it is. Details get `pipelines`.
/// **Throws** InputError if the number is not among `pipeline_counts`, as `plan_one`, and if the schedule refuses
/// the copies.
[[nodiscard]] PlanResult plan_side_by_side(const PlannerInfo& planner, const PlanRequest& request,
                                           const std::function<PlanResult(const PlanRequest&)>& plan_one);

}  // namespace stagecraft
