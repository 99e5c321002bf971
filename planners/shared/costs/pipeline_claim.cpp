#include "planners/shared/costs/pipeline_claim.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/exchange_times.hpp"
#include "planners/shared/costs/replica_bandwidths.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/replicas.hpp"
#include "sim/model/run_sums.hpp"
#include "sim/schedule/boundaries.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace stagecraft {
namespace {

/// What a replica has to send to the next stage. If every replica sends to one of its own, they share links.
std::optional<BytesPerSecond> lane_bandwidth(const Platform& platform, const std::vector<DeviceId>& from,
                                             const std::vector<DeviceId>& to) {
  if (from.size() == to.size()) return replica_bandwidth(platform, from, to).bandwidth;
  return smallest_bandwidth(platform, from, to).bandwidth;
}

Seconds largest_transfer(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  Seconds largest{0};
  for (const Boundary& boundary : boundaries(graph, plan)) {
    const Stage& from = plan.stages[boundary.from.value()];
    const Stage& to = plan.stages[boundary.to.value()];
    const auto lanes = static_cast<double>(std::min(from.replicas.size(), to.replicas.size()));
    const std::optional<BytesPerSecond> narrowest = lane_bandwidth(platform, devices_of(from), devices_of(to));
    largest = std::max(largest, boundary.bytes / narrowest.value_or(BytesPerSecond(kNever.value())) / lanes);
  }
  return largest;
}

/// The largest figures of a stage.
struct LargestStage {
  Seconds period;       ///< of a microbatch, if the stage never flushes
  Seconds work;         ///< of a replica in an iteration
  Seconds once;         ///< of a microbatch on a replica
  Seconds synchronise;  ///< all-reduce and update after the last backward
};

/// The update of the stage's parameters, less some of them.
Seconds update_of(const LayerGraph& graph, const Platform& platform, const Plan& plan, const Stage& stage,
                  Bytes less = {}) {
  const Bytes parameters = parameters_of(graph, stage.layers) - less;
  return slowest_update(platform, plan.training, devices_of(stage), parameters);
}

/// The time of a microbatch on a stage that never flushes: the mean of the rounds from one all-reduce of tied
/// parameters to the next.
Seconds stage_period(const LayerGraph& graph, const Platform& platform, const Plan& plan, const Stage& stage,
                     const ExchangeTimes& exchange) {
  const StageTime time = stage_time(graph, platform, stage);
  const double share = 1.0 / static_cast<double>(alternating_replicas(stage));
  const auto rounds = static_cast<double>(plan.rounds_per_update);
  const auto round = [&](Seconds all_reduce, Bytes less) {
    return (time.backward + std::max(time.forward, all_reduce) + update_of(graph, platform, plan, stage, less)) * share;
  };
  const auto updates = static_cast<double>(exchange.updates_apart);
  const Seconds with_update =
      (round(exchange.own, exchange.tied_bytes) * (updates - 1.0) + round(exchange.longest(), Bytes(0))) / updates;
  return (time.total() * share * (rounds - 1.0) + with_update) / rounds;
}

/// `exchanges`: of each stage.
LargestStage largest_stage(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                           const std::vector<ExchangeTimes>& exchanges) {
  LargestStage largest;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    const StageTime time = stage_time(graph, platform, stage);
    const std::int64_t replicas = alternating_replicas(stage);
    const ExchangesEachTime& each = exchanges[s].each;
    const Seconds once = time.total() + each.exposed;
    const std::int64_t turns = (plan.microbatches + replicas - 1) / replicas;
    largest.period = std::max(largest.period, stage_period(graph, platform, plan, stage, exchanges[s]));
    largest.work = std::max(largest.work, std::max(once, each.all) * static_cast<double>(turns));
    largest.once = std::max(largest.once, once);
    largest.synchronise =
        std::max(largest.synchronise, exchanges[s].longest() + update_of(graph, platform, plan, stage));
  }
  return largest;
}

Figures claim_from(const Plan& plan, const LargestStage& stage, Seconds transfer) {
  Figures figures;
  if (is_asynchronous(plan.schedule)) {
    figures.period = std::max(stage.period, transfer);
  } else {
    figures.iteration_time = std::max(stage.work, transfer * static_cast<double>(plan.microbatches)) +
                             stage.once * static_cast<double>(plan.stages.size() - 1) + stage.synchronise;
  }
  return figures;
}

}  // namespace

Figures pipeline_claim(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const LargestStage stage = largest_stage(graph, platform, plan, exchange_times(graph, platform, plan));
  return claim_from(plan, stage, largest_transfer(graph, platform, plan));
}

Figures pipeline_claim_without_exchange(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const std::vector<ExchangeTimes> nothing(plan.stages.size());
  return claim_from(plan, largest_stage(graph, platform, plan, nothing), Seconds(0));
}

Seconds tied_period(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  Seconds period;
  const std::vector<ExchangeTimes> exchanges = exchange_times(graph, platform, plan);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    if (exchanges[s].tied == Seconds(0)) continue;
    const Stage& stage = plan.stages[s];
    period = std::max(period, stage_period(graph, platform, plan, stage, exchanges[s]));
  }
  return period;
}

}  // namespace stagecraft
