#pragma once

#include "sim/schedule/schedule_family.hpp"

#include <cstdint>

namespace stagecraft {

/// The program of a family with fixed orders (`ScheduleFamily::orders`). The stages of the plan have to lie as the
/// family's placement has them, each with as many replicas as the others; each replica of a pipeline runs the orders
/// over the microbatches of its turns. A stage has in flight what its order keeps there: a split backward ends with its
/// weight half.
/// **Cost** O(microbatches x stages), of long orders that of a part.
[[nodiscard]] Compilation fixed_program(const ScheduleFamily& family, const PlanContext& context,
                                        const Options& parameters);

/// The microbatches of the plan after which its fixed orders, if they are long, repeat themselves on all replicas.
/// **Requires** such a schedule.
[[nodiscard]] std::int64_t repeating_microbatches(const Plan& plan);

}  // namespace stagecraft
