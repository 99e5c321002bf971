#pragma once

#include "planners/shared/costs/limits.hpp"

#include <string>

namespace stagecraft {

/// A piece of work that a planner is about to do, with its size.
struct Work {
  std::string what;    ///< the work, such as "the table of 4 layers in 2 stages"
  double bytes = 0.0;  ///< of memory
  double steps = 0.0;
  std::string unit = "steps";  ///< name of a step, in the plural
  std::string remedy;          ///< a way to need less, such as "plan for fewer devices"
};

/// The limits for a piece of work.
struct WorkLimit {
  double bytes = kMostTableBytes;
  double steps = kMostSteps;
  std::string option = {};  ///< the planner's option that sets `steps`
};

/// **Throws** InputError if the work exceeds the limit; the message gives both sizes and the remedy.
void require_affordable(const Work& work, const WorkLimit& limit = {});

}  // namespace stagecraft
