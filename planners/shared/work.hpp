#pragma once

#include "planners/shared/limits.hpp"

#include <string>

namespace stagecraft {

/// What a planner is about to do, said before it begins.
struct Work {
  std::string what;    ///< that takes it: "the table of 4 layers in 2 stages"
  double bytes = 0.0;  ///< of memory
  double steps = 0.0;
  std::string unit = "steps";  ///< what a step is, in the plural
  std::string remedy;          ///< what asks for less: "plan for fewer devices"
};

/// How much a planner takes on.
struct WorkLimit {
  double bytes = kMostTableBytes;
  double steps = kMostSteps;
  std::string option = {};  ///< of the planner, that sets `steps`
};

/// **Throws** InputError if the work exceeds the limit; it says by how much and what helps.
void require_affordable(const Work& work, const WorkLimit& limit = {});

}  // namespace stagecraft
