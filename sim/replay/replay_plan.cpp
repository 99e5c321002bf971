#include "sim/replay/replay_plan.hpp"

#include "sim/model/plan.hpp"

namespace stagecraft {

ReplayOutcome replay_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                          const LowerOptions& options, const Events& events, ReplayOptions replay_options) {
  const LoweredRun run = lower(graph, platform, plan, options);
  replay_options.measurement = run.measurement;
  // The child has a copy of the lowering and pulls the windows from it. In this process the source is not used.
  return replay(platform, [&] { return run.source; }, events, replay_options);
}

}  // namespace stagecraft
