#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/report.hpp"

#include <cstddef>
#include <optional>

namespace stagecraft {

/// What a change cost. In an asynchronous run, by how much its microbatches came later than at the rates of both plans,
/// with a pipeline that is full already. In a flushed run, which fills it in every iteration, by how much the first
/// iteration under the new plan was longer than those are alone. None where that is not known.
[[nodiscard]] std::optional<Seconds> stall_of(const Report& report, std::size_t replan);

/// The sum over the changes of which it is known; none if there are changes, but none of those.
[[nodiscard]] std::optional<Seconds> stall_of_all(const Report& report);

}  // namespace stagecraft
