#pragma once

#include "planners/planner.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

// Pipelines whose stages all have the same number of replicas, one device each.

/// The option `stages`, 0 by default: as many as `limits` allow.
[[nodiscard]] OptionInfo stages_option(const std::string& limits);
/// The option `replicas`. 0, the default, is one, unless that leaves devices idle: then it is what the best even
/// pipeline has (`best_even_pipeline`).
[[nodiscard]] OptionInfo replicas_option();

/// **Throws** InputError if the platform has not that many devices.
void require_devices(const PlannerInfo& planner, const PlanRequest& request, std::size_t stages, std::size_t replicas);

/// `count` runs of `replicas` devices each, in platform order.
[[nodiscard]] std::vector<std::vector<DeviceId>> device_runs(std::size_t count, std::size_t replicas);

/// The devices of each stage, in platform order: as many stages and replicas as the options ask for. Without `stages`
/// there are as many as devices and units allow, unless the best even pipeline decides (`replicas_option`).
/// **Throws** InputError as `require_devices`, and if there are fewer units than stages.
/// **Cost** that of the best even pipeline, where it decides.
[[nodiscard]] std::vector<std::vector<DeviceId>> stage_devices(const PlannerInfo& planner, const PlanRequest& request,
                                                               std::size_t units);

}  // namespace stagecraft
