#pragma once

#include "sim/model/plan.hpp"
#include "sim/model/schedule.hpp"
#include "sim/schedule/schedule_info.hpp"

#include <cstdint>

namespace stagecraft {

/// min(warm-up + 1, the replica's microbatches): p - i without replication.
[[nodiscard]] std::int64_t one_f_one_b_in_flight(const Plan& plan, StageId stage);

/// Each replica: warm-up forwards, then forward and backward in turn, then the remaining backwards. The synchronous and
/// the asynchronous family share this order; they differ in what happens at the end of an iteration.
[[nodiscard]] Schedule build_one_f_one_b(const Plan& plan, Segment segment);

}  // namespace stagecraft
