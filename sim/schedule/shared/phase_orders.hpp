#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/capped/pipeline_work.hpp"
#include "sim/schedule/kept_plan.hpp"

namespace stagecraft {

/// Device orders of GPipe for a plan whose devices hold several stages: each device runs all forwards of its stages,
/// then all backwards. They are found by a run with the times of the plan's work, first of all forwards, then of all
/// backwards. A device that is idle runs the operation that is ready; of several the one of the oldest microbatch, then
/// that of the earlier stage for forwards, of the later stage for backwards. In that run no backward starts before the
/// last forward of the plan has ended. Since orders come from a run, they cannot deadlock.
/// **Cost** O(operations · (stages of a device + log operations)).
[[nodiscard]] Schedule order_by_phases(const KeptPlan& kept, const PipelineWork& work);

}  // namespace stagecraft
