#pragma once

#include "planners/pipedream/down_sets.hpp"
#include "planners/pipedream/recurrence.hpp"
#include "planners/planner.hpp"

namespace stagecraft::pipedream {

/// The states of `graph` for planning within the options `max_states` and `max_work`: all of them or, with `compress`,
/// the part that these limits leave.
/// **Throws** InputError if they exceed a limit and `compress` is off or leaves too many as well.
[[nodiscard]] DownSets choose_states(const PlanRequest& request, const LayerGraph& graph, const Settings& settings);

/// Restricts the states in the same way to what `settings` allow, which may have got a memory test since.
void restrict_states(const PlanRequest& request, const LayerGraph& graph, const Settings& settings, DownSets& states);

}  // namespace stagecraft::pipedream
