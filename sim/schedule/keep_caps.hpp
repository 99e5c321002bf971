#pragma once

#include "sim/model/schedule.hpp"

namespace stagecraft {

struct Plan;

/// On a device with the ready discipline times decide which forward runs next, so its order does not keep a cap on
/// microbatches in flight. Here each forward beyond a stage's cap is made to wait for a backward: the n-th one on the
/// device for the backward of the (n - cap)-th one's microbatch. Forwards count by priority, then by position.
void keep_caps(const Plan& plan, Schedule& schedule);

}  // namespace stagecraft
