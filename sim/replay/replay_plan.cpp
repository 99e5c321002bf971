#include "sim/replay/replay_plan.hpp"

#include <utility>

namespace stagecraft {

ReplayOutcome replay_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                          const LowerOptions& options, const Events& events, bool with_timeline,
                          const std::function<void(const ReplayProgress&)>& progress) {
  LoweredRun run = lower(graph, platform, plan, options);
  ReplayOptions replay_options;
  replay_options.use = std::move(run.use);
  replay_options.measurement = run.measurement;
  replay_options.timeline = with_timeline;
  replay_options.progress = progress;
  // The child has a copy of the lowering and draws the windows from it; here it is never asked.
  return replay(platform, [&] { return run.source; }, events, replay_options);
}

}  // namespace stagecraft
