#pragma once

#include "planners/pipedream/down_sets.hpp"
#include "planners/pipedream/planned.hpp"
#include "planners/planner.hpp"

#include <optional>

namespace stagecraft::pipedream {

/// What a search for a pipeline that passes the memory ledger has found.
struct Fitting {
  std::optional<Planned> plan;  ///< the pipeline of the least period by the recurrence, of those found that pass
  double work_on_fewer = 0.0;   ///< transitions that pipelines on fewer devices have taken
  double work = 0.0;            ///< of all searches and their memory tests, in nanoseconds
  bool is_complete = true;      ///< whether `max_work` was enough for all of them
};

/// Searches for the best pipeline whose stages pass a test by the memory ledger, first with a lower bound of a stage's
/// memory and, if the ledger of the whole plan refuses the answer, with an upper bound. The test counts all devices
/// behind a stage, those that stay idle as well. So where devices may stay idle, the problem is also solved for every
/// smaller number of members of each level. That is exact for chains on one level. On several levels a pipeline may be
/// missed whose nodes use different numbers of devices. The searches on fewer devices end before their transitions,
/// with those of the first search, exceed the option `max_work`.
/// May leave out states, as `restrict_states`.
[[nodiscard]] Fitting plan_that_fits(Problem& problem, DownSets& states);

}  // namespace stagecraft::pipedream
