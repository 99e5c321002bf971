#pragma once

#include "experiments/measured/collective_fit.hpp"
#include "experiments/view/description.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// A line for each group with the constants that were fitted to it alone, and how far those of all groups are off; then
/// the constants of all groups.
[[nodiscard]] Description describe_collective_fit(const CollectiveFit& fit, const std::string& platform);

/// Shares that ended at their bound.
[[nodiscard]] std::vector<std::string> collective_warnings(const CollectiveFit& fit);

}  // namespace stagecraft
