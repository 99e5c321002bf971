#pragma once

#include <string>
#include <vector>

namespace stagecraft {

struct Plan;

/// The number of replicas of each stage: `15 + 1`; `9 + 4 x 2` where stages in a row have as many; `4 of 16 x 1` if
/// several pipelines do; `4 x 8 (5 chunks)` where 20 stages go five times round the devices of 4 stages of 8;
/// `4 x 8 (V)` where 8 stages go down and up again on them, `4 x 8 (3 waves)` where 24 stages do so three times.
[[nodiscard]] std::string configuration_text(const Plan& plan);

/// What such texts mean, for the legend of their table: empty if each has one number for each stage.
[[nodiscard]] std::string configuration_legend(const std::vector<std::string>& configurations);

}  // namespace stagecraft
