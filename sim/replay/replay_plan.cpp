#include "sim/replay/replay_plan.hpp"

#include "sim/model/plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <utility>

namespace stagecraft {

ReplayOutcome replay_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                          const LowerOptions& options, const Events& events, ReplayOptions replay_options) {
  const ScheduleProgram program = require_schedule(graph, platform, plan);
  return replay_program(graph, platform, program, options, events, std::move(replay_options));
}

ReplayOutcome replay_program(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                             const LowerOptions& options, const Events& events, ReplayOptions replay_options) {
  LoweredRun run = lower(graph, platform, program, options);
  replay_options.measurement = run.measurement;
  if (!options.replanning && !replay_options.in_place) {  // a planner is asked once
    auto outcome = replay_without_engine(platform, run.source, events, replay_options);
    if (outcome) return *std::move(outcome);
    run = lower(graph, platform, program, options);
  }
  // The child has a copy of the lowering and pulls the windows from it. In this process the source is not used.
  return replay(platform, [&] { return run.source; }, events, replay_options);
}

}  // namespace stagecraft
