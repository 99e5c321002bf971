#pragma once

#include "planners/planner.hpp"
#include "planners/shared/saving.hpp"
#include "planners/shared/saving_pipeline.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// Stages that a planner has found: the cuts (0 and the number of units among them), and what each stage saves.
struct SavedStages {
  std::vector<std::size_t> cuts;
  std::vector<SavingPlan> savings;
  Detail::Record details = {};
  std::vector<std::string> notes = {};
};

/// Finds stages that fit by the figures of the pipeline; none if it finds none.
using FindStages = std::function<std::optional<SavedStages>(const SavingPipeline&)>;

/// The plan of what `find` finds, if the memory ledger says that it fits. Where the ledger finds more memory than the
/// device of a stage has, the pipeline's figures are corrected and stages are sought again, up to `kMostSettlingRounds`
/// times: if units of that stage are swapped, more microbatches count as having them on the device; else the stage's
/// capacity is lowered by the excess. Units that are swapped must also fit in the memory of their hosts, with as many
/// copies as microbatches are in flight: if they do not, the stage that has most of them there swaps nothing any more.
/// What is on a device depends on how long copies take, so a plan with swaps must also fit if they take as long as on
/// links that all devices use (`with_crowded_host_links`).
///
/// `predicted` is the claim of the shared cost model (`pipeline_claim`), or the time of the slowest stage with its
/// copies if that is longer. `details` are those of the stages, and `ledger_rounds`, the times that stages were sought.
/// **Throws** InputError if the schedule refuses the plan. **Cost** that of `find` for each round, and if something is
/// swapped that of evaluating the plan.
[[nodiscard]] PlanResult settled_plan(SavingPipeline pipeline, const FindStages& find);

}  // namespace stagecraft
