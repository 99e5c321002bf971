#pragma once

#include "planners/planner.hpp"
#include "planners/shared/savings/saving.hpp"
#include "planners/shared/savings/saving_pipeline.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace stagecraft {

/// A plan whose stages save memory, and what the figures of its stages say.
struct SavedPlan {
  Planned planned;
  std::vector<StageSaving> savings;  ///< of each stage
  std::vector<Bytes> swapped;        ///< of each stage: the stash of its swapped units, of one microbatch
};

/// The plan that the ledger accepts; or, of the last plan that it refused, the device that lacks most. Neither if there
/// was no plan.
struct LedgerFit {
  std::optional<Planned> planned;
  std::optional<Infeasible> overflow;
};

/// The plan of what `find` finds, if the memory ledger says that it fits. Where the ledger finds more memory than the
/// device of a stage has, the figures of its place are corrected and stages are sought again, up to
/// `kMostLedgerRounds` times: if units of that stage are swapped, more microbatches count as having them on the
/// device; else the stage's capacity is lowered by the excess. Units that are swapped must also fit in the memory of
/// their hosts, with as many copies as microbatches are in flight: if they do not, the stage that has most of them
/// there swaps nothing any more. Forwards wait for copies to the host, so slower links than those of an evaluation do
/// not let swapped stashes pile up.
///
/// `claim` gives `predicted` of the plan that fits, to which the peaks are added; an iteration with swaps or with caps
/// on the microbatches in flight takes at least its evaluated time, and that is the claim where the claims of the
/// schedule are evaluations. Details get `ledger_rounds`, the times that stages were sought.
/// **Requires** a place for each stage, which outlives the call. **Throws** InputError if the schedule refuses the
/// plan.
/// **Cost** that of `find` for each round, and if something is swapped that of evaluating the plan.
[[nodiscard]] LedgerFit fit_to_ledger(const PlanRequest& request, std::vector<StagePlace>& places,
                                      const std::function<std::optional<SavedPlan>()>& find,
                                      const std::function<Figures(const SavedPlan&)>& claim);

/// By stage, whether something is swapped.
[[nodiscard]] std::vector<char> swaps_of(const Plan& plan);

/// Times the stages that swap anew if they have more of the links to hosts when the others do not use these. `stage`:
/// a stage of the plan in such a place.
void share_links(const PlanRequest& request, const std::vector<StagePlace>& places,
                 const std::function<SavingStage(std::size_t, const StagePlace&)>& stage, SavedPlan& saved);

/// Whether the planner has made the plan fit with fewer microbatches in flight.
[[nodiscard]] bool has_caps(const Plan& plan);

/// The longest time of a stage for a microbatch, by the figures of the stages.
[[nodiscard]] Seconds slowest_time(const std::vector<StageSaving>& savings);

/// The stash of the units that are swapped. **Shape** an action for each unit.
[[nodiscard]] Bytes swapped_stash(const std::vector<SavingUnit>& units, const std::vector<UnitAction>& actions);

}  // namespace stagecraft
