#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/report.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace stagecraft {

/// The questions that changed the plan, in the order of `Course::replans`.
[[nodiscard]] std::vector<const ReplanQuestion*> changes_of_plan(const Report& report);

/// By how much the microbatches of a change came later than at the rates of both plans, with a pipeline that is full
/// already. None for a flushed schedule, which fills it in every iteration, and where the rates are not known.
[[nodiscard]] std::optional<Seconds> stall_of(const Report& report, std::size_t replan);

/// The sum over the changes of which it is known; none if there are changes, but none of those.
[[nodiscard]] std::optional<Seconds> stall_of_all(const Report& report);

}  // namespace stagecraft
