#pragma once

#include "experiments/run/planning_choices.hpp"

#include <cstdint>
#include <string>

namespace stagecraft {

/// A hint about `--microbatches`, such as `choose 8 or 16 with --microbatches`, for a user who has given samples in
/// their place: `choose 32 or 64 with --global-batch, since a microbatch has 4 samples`. Other hints stay as they are.
/// `samples`: of a microbatch, in the whole group.
[[nodiscard]] std::string in_given_terms(const std::string& hint, const PlanningChoices& choices, std::int64_t samples);

}  // namespace stagecraft
