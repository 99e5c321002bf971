#pragma once

#include "experiments/run/run_cost.hpp"
#include "sim/model/detail.hpp"

#include <string>

namespace stagecraft {

/// A line such as `cost: 0.0213 per iteration, 12.3 per 10^9 tokens (8 of 64 devices)`, with 10^6 samples where tokens
/// are not known; empty if no cost is. The devices are named where some of the platform are not counted.
[[nodiscard]] std::string cost_line(const RunCost& cost);

/// The same for JSON: `cost_per_iteration`, `cost_per_billion_tokens` and `cost_per_million_samples`, those that are
/// known.
[[nodiscard]] Detail::Record cost_record(const RunCost& cost);

}  // namespace stagecraft
