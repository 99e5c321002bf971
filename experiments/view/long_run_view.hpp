#pragma once

#include "experiments/run/repeated_run.hpp"
#include "sim/model/detail.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// A line that says how a long run was simulated; empty for a short one, and where events or a record make it whole,
/// unless it is asked for.
[[nodiscard]] std::string long_run_line(const std::optional<LongRun>& run, bool is_asked);

/// The same for JSON; null for a short one.
[[nodiscard]] Detail long_run_record(const std::optional<LongRun>& run);

}  // namespace stagecraft
