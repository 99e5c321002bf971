#pragma once

#include "experiments/run/simulation.hpp"
#include "sim/model/report.hpp"

namespace stagecraft {

/// The number of a stage in its own plan, from 0. A run numbers the stages of its plans onwards: those of a plan that
/// follows another begin at `Replan::first_stage`. `stage` may be none, and stays so.
[[nodiscard]] StageId stage_in_plan(const Report& report, StageId stage);

/// Gives the stages of a run whose plan has changed their numbers in their own plans: of devices, the bottleneck, the
/// timeline and the traffic. Migrations keep the numbers of the run, which tell the plan that they belong to.
void number_stages_by_plan(Simulation& simulation);

}  // namespace stagecraft
