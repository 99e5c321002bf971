#include "sim/base/error.hpp"
#include "sim/schedule/schedule_info.hpp"

namespace stagecraft {
namespace {

std::int64_t one_weight_version(const Plan& /*plan*/, StageId /*stage*/) { return 1; }

/// Not known without the orders themselves: at most all microbatches.
std::int64_t at_most_all(const Plan& plan, StageId /*stage*/) { return plan.microbatches; }

Schedule build(const Plan& /*plan*/, Segment /*segment*/) {
  throw InputError("schedule 'literal' needs the file that gives each device's order", {},
                   "name it with --schedule-file");
}

}  // namespace

const ScheduleInfo literal_schedule = {"literal",
                                       "each device's operations in order, channels included, given in a file",
                                       "stagecraft/schedule/1",
                                       true,
                                       {},
                                       nullptr,
                                       &one_weight_version,
                                       &at_most_all,
                                       &build};

}  // namespace stagecraft
