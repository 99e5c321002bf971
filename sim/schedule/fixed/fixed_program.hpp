#pragma once

#include "sim/schedule/schedule_family.hpp"

namespace stagecraft {

/// The program of a family with fixed orders (`ScheduleFamily::orders`). The stages of the plan have to lie as the
/// family's placement has them, each with as many replicas as the others; each replica of a pipeline runs the orders
/// over the microbatches of its turns. A stage has in flight what its order keeps there: a split backward ends with its
/// weight half.
/// **Cost** O(microbatches x stages), of long orders that of a part.
[[nodiscard]] Compilation fixed_program(const ScheduleFamily& family, const PlanContext& context,
                                        const Options& parameters);

}  // namespace stagecraft
