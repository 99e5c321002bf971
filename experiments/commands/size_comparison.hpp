#pragma once

#include "experiments/commands/verb.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/largest_size.hpp"
#include "experiments/run/set_option.hpp"
#include "experiments/run/settings.hpp"

namespace stagecraft {

/// What `max-batch` asks several planners, or for curves.
struct SizeComparisonChoices {
  UsedPlanners planners;
  LargestSizeChoices sizes;  ///< without what `set` says of single planners
  SetValues set;
  bool curves = false;
};

/// The largest sizes of the planners, with their curves. A planner for which the common memory policy chose what it
/// saves has a second row, under `keep`. What is done is the result so far.
/// **Throws** InputError if every planner refuses: as the first of them.
[[nodiscard]] Answer compare_sizes(const SizeComparisonChoices& choices, const Inputs& inputs,
                                   const Settings& settings);

}  // namespace stagecraft
