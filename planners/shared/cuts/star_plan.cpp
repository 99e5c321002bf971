#include "planners/shared/cuts/star_plan.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/error.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/schedule/periodic.hpp"

#include <cstdint>
#include <optional>

namespace stagecraft {
namespace {

StarTimes require_times(const Chain& chain, std::span<const ChainStage> stages, Ticks period) {
  std::optional<StarTimes> times = star_times(resources_of(chain, stages), period);
  STAGECRAFT_CHECK(times.has_value(), "a period no less than any load");
  return std::move(*times);
}

}  // namespace

std::vector<std::int64_t> stages_in_flight(const Chain& chain, std::span<const ChainStage> stages, Ticks period) {
  const StarTimes times = require_times(chain, stages, period);
  std::vector<std::int64_t> counts;
  for (std::size_t s = 0; s < stages.size(); ++s) counts.push_back(times.in_flight[2 * s]);
  return counts;
}

Plan pattern_plan(const PlannerInfo& planner, const PlanRequest& request, const Chain& chain,
                  std::span<const ChainStage> stages, const TickPattern& pattern) {
  Plan plan = empty_plan(planner, request);
  for (const ChainStage& range : stages) {
    Stage& stage = plan.stages.emplace_back();
    stage.layers = layers_in(chain.order(), range.begin, range.end);
    stage.replicas = {DeviceId(range.device)};
  }
  plan.pattern = to_pattern(pattern, true);
  plan.predicted.period = to_seconds(pattern.period);
  // Updates take no time in a pattern, so the period is that of updates of any size. A round is one microbatch.
  const std::int64_t samples = request.samples_per_update.value_or(plan.microbatch_size);
  if (samples % plan.microbatch_size == 0) plan.rounds_per_update = samples / plan.microbatch_size;
  return plan;
}

Plan star_plan(const PlannerInfo& planner, const PlanRequest& request, const Chain& chain,
               std::span<const ChainStage> stages, Ticks period) {
  return pattern_plan(planner, request, chain, stages, star_pattern(require_times(chain, stages, period), period));
}

Detail::Record chain_figures(const PlanRequest& request, const Chain& chain) {
  const auto bandwidth = smallest_pair_bandwidth(request.platform);
  return {{"bandwidth_bytes_per_s", bandwidth ? Detail(bandwidth->value()) : Detail()},
          {"memory_bytes", chain.capacity().value()},
          {"time_factor", slowest_factor(request.graph, request.platform, all_devices(request.platform))}};
}

}  // namespace stagecraft
