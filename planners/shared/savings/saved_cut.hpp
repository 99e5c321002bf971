#pragma once

#include "planners/planner.hpp"

#include <optional>

namespace stagecraft {

/// The plan with the cheapest memory actions with which its stages fit (`PlanRequest::memory` says which are allowed);
/// stages that fit have none. The cuts and the devices stay. None if no actions are found with which it fits.
///
/// `exact_savings` chooses for the layers of each stage, and for runs of them that are recomputed as one segment. A
/// device that runs several stages gives each of them a part of its memory in proportion
/// to what the stages keep. Then `fit_to_ledger` makes the plan fit by the memory ledger.
///
/// `predicted` is the claim of the shared cost model, or the time of the slowest stage with its copies if that is
/// longer. Details and notes of `planned` are kept; details get `ledger_rounds`. `saved_by_policy` says whether there
/// are actions.
/// **Requires** a plan without memory actions. **Throws** InputError if the schedule refuses the plan.
/// **Cost** as `exact_savings` for each stage and `fit_to_ledger`.
[[nodiscard]] std::optional<Planned> with_savings(const PlanRequest& request, Planned planned);

/// The claim of `with_savings` if the memory ledger finds no more than the figures of the stages; none if nothing fits
/// by these. **Requires** and **throws** as `with_savings`. **Cost** as `exact_savings` for each stage.
[[nodiscard]] std::optional<Figures> estimated_savings(const PlanRequest& request, const Planned& planned);

}  // namespace stagecraft
