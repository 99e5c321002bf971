#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/list/list_run.hpp"
#include "sim/schedule/list/pipeline_work.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace stagecraft {

/// The rule of `ListRun` with split backwards with which the last weight half of a synchronous plan ends first. Tried
/// are turns and forwards first, with the warm-up of 1F1B, that of eager 1F1B and one up to the caps; with weight
/// halves in every gap, in one of half their time and of all of it; and with or without filling every gap at the end. A
/// long plan is judged by its first microbatches, four for each stage or for each that may be in flight and 64 at
/// least, and by the time of those in the middle.
/// **Requires** devices with one stage each, and caps of at least 1.
/// **Cost** of 36 runs.
[[nodiscard]] ListRule fastest_halves(const std::shared_ptr<const KeptPlan>& kept,
                                      const std::shared_ptr<const PipelineWork>& work,
                                      const std::vector<std::int64_t>& caps);

/// The caps, and the same limited to smaller numbers, for `fastest_halves` where more in flight costs nothing but may
/// not be faster: by increasing limit, that of 1F1B and evenly spaced ones, as many as two million operations allow.
[[nodiscard]] std::vector<std::vector<std::int64_t>> tried_halves(const Plan& plan,
                                                                  const std::vector<std::int64_t>& caps);

}  // namespace stagecraft
