#pragma once

#include "experiments/study/results.hpp"
#include "sim/model/detail.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// How long a contender planned.
struct PlanningTimes {
  std::string name;
  std::int64_t cells = 0;  ///< with a time, `planning_time_s`
  std::optional<double> mean_s = {};
  std::optional<double> longest_s = {};
};

/// One for each contender, in their order. Unlike the summary of a study they differ from run to run.
[[nodiscard]] std::vector<PlanningTimes> planning_times(const Results& results);

/// Records of `name`, `cells`, `mean_s` and `longest_s`, null where no cell has a time.
[[nodiscard]] Detail::List planning_time_list(const std::vector<PlanningTimes>& times);

}  // namespace stagecraft
