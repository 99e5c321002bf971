#pragma once

#include "planners/planner.hpp"
#include "planners/shared/savings/saving.hpp"
#include "planners/shared/savings/saving_pipeline.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// Stages that a planner has found: the cuts (0 and the number of units among them), and what each stage saves.
struct SavedStages {
  std::vector<std::size_t> cuts;
  std::vector<StageSaving> savings;
  Detail::Record details = {};
  std::vector<std::string> notes = {};
};

/// Finds stages that fit by the figures of the pipeline; none if it finds none.
using FindStages = std::function<std::optional<SavedStages>(const SavingPipeline&)>;

/// The plan of what `find` finds, if the memory ledger says that it fits (`fit_to_ledger`).
///
/// At first each device has an equal part of a link to a host. If in the plan only some of them swap, stages are sought
/// again for links that these alone share, and the plan with the better claim is the answer: up to three times, where
/// units times stages are `kMostUnitsToRepeat` at most.
///
/// `predicted` is the claim of the shared cost model (`pipeline_claim`), or the time of the slowest stage with its
/// copies if that is longer; links to hosts are divided among the devices that swap. **Throws** InputError if the
/// schedule refuses the plan.
/// **Cost** as `fit_to_ledger`.
[[nodiscard]] PlanResult fitted_plan(SavingPipeline pipeline, const FindStages& find);

}  // namespace stagecraft
