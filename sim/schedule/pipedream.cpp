#include "sim/schedule/one_f_one_b.hpp"
#include "sim/schedule/schedule_info.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

/// A backward uses the weights of its forward: one copy for each microbatch in flight, the newest included.
std::int64_t stashed_versions(const Plan& plan, StageId stage) { return one_f_one_b_in_flight(plan, stage); }

}  // namespace

const ScheduleInfo pipedream_schedule = {
    "pipedream",
    "asynchronous 1F1B with weight stashing: never flushed, an update after every backward (or round of replicas)",
    "PipeDream (Narayanan et al., SOSP 2019)",
    false,
    {},
    nullptr,
    &stashed_versions,
    &one_f_one_b_in_flight,
    &build_one_f_one_b};

}  // namespace stagecraft
