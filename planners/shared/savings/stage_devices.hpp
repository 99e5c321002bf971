#pragma once

#include "planners/planner.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

// Pipelines whose stages all have the same number of replicas, one device each.

/// The options `stages` and `replicas`, 0 by default: the planner chooses (`shape_variants`). Without `stages`
/// there are as many as `limits` allow for the replicas that are given; one replica is the form of the papers.
[[nodiscard]] OptionInfo stages_option(const std::string& limits);
[[nodiscard]] OptionInfo replicas_option();

/// **Throws** InputError if the platform has not that many devices.
void require_devices(const PlannerInfo& planner, const PlanRequest& request, std::size_t stages, std::size_t replicas);

/// `count` runs of `replicas` devices each, in platform order.
[[nodiscard]] std::vector<std::vector<DeviceId>> device_runs(std::size_t count, std::size_t replicas);

/// The devices of each stage, in platform order: as many stages and replicas as the options ask for. Without `stages`
/// there are as many as devices and units allow, and without `replicas` there is one.
/// **Throws** InputError as `require_devices`, and if there are fewer units than stages.
[[nodiscard]] std::vector<std::vector<DeviceId>> stage_devices(const PlannerInfo& planner, const PlanRequest& request,
                                                               std::size_t units);

/// `PlannerInfo::variants` of a planner with these two options and `granularity`: of what they leave open, the six
/// shapes with which even pipelines that recompute at most are best and fit (`best_even_shapes`), two for a model of
/// more than 500 layers; if there are fewer, others, the longest for each number of replicas first; if none has a plan,
/// the rest of these. While training runs, stages keep their number of replicas. None if `replicas` are given.
/// **Throws** InputError as `even_shapes`. **Cost** that of `best_even_shapes`.
[[nodiscard]] Variants shape_variants(const PlannerInfo& planner, const PlanRequest& request);

}  // namespace stagecraft
