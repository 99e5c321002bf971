#include "experiments/run/replan_policy.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/schedule/tied_stages.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <vector>

namespace stagecraft {
namespace {

/// The time of a stage for a microbatch, from the passes that it has finished; none without any.
std::optional<double> time_of(const StageObservation& seen) {
  if (seen.forwards == 0 || seen.backwards == 0) return std::nullopt;
  const auto each = [](Seconds sum, std::int64_t count) {
    return count > 0 ? sum.value() / static_cast<double>(count) : 0.0;
  };
  if (seen.pairs > 0) return each(seen.forward_time + seen.backward_time + seen.pair_time, seen.forwards);
  return each(seen.forward_time, seen.forwards) + each(seen.backward_time, seen.backwards);
}

/// The time that a transfer between the first devices of two stages takes.
Seconds transfer_time(const Platform& platform, DeviceId from, DeviceId to, Bytes bytes) {
  if (from == to) return Seconds(0);
  const std::optional<PairCost> cost = pair_cost(platform, from, to);
  if (!cost) return Seconds(0);
  return cost->latency + (cost->bandwidth ? bytes / *cost->bandwidth : Seconds(0));
}

DeviceId lead(const Stage& stage) { return stage.replicas.front().lead(); }

/// The stage of the plan that has the layer, or none.
std::optional<std::size_t> stage_with(const Plan& plan, LayerId layer) {
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    if (std::ranges::count(plan.stages[s].layers, layer) > 0) return s;
  }
  return std::nullopt;
}

/// The stage of the plan on the device; the first one if it has several, the number of stages if it has none.
std::size_t stage_on(const Plan& plan, DeviceId device) {
  const auto found = std::ranges::find_if(
      plan.stages, [&](const Stage& stage) { return std::ranges::count(devices_of(stage), device) > 0; });
  return static_cast<std::size_t>(found - plan.stages.begin());
}

/// How late the first forward of a stage is because of the layers that it fetches.
class Fetching {
 public:
  Fetching(const LayerGraph& graph, const Platform& platform, const Plan& before, const Plan& after)
      : graph_(graph), platform_(platform), before_(before), after_(after), drained_(before.stages.size() + 1) {
    for (std::size_t s = 0; s < before.stages.size(); ++s) {
      drained_[s + 1] = drained_[s] + stage_time(graph, platform, before.stages[s]).backward;
    }
  }

  /// When the layers of the stage have arrived, counted from when the first stage has drained; a later stage has
  /// drained earlier by the backwards of those before it.
  [[nodiscard]] Seconds arrival(std::size_t stage) const {
    const DeviceId device = lead(after_.stages[stage]);
    const std::size_t own = stage_on(before_, device);
    std::map<std::size_t, Bytes> from;
    std::set<std::size_t> fetched;  // groups of tied parameters
    const auto is_held = [&](LayerId layer) {
      const std::optional<std::size_t> holder = stage_with(before_, layer);
      return holder && std::ranges::count(devices_of(before_.stages[*holder]), device) > 0;
    };
    const auto is_there = [&](std::size_t group) {
      return std::ranges::any_of(graph_.tied[group].layers, is_held) || !fetched.insert(group).second;
    };
    for (LayerId layer : after_.stages[stage].layers) {
      const std::optional<std::size_t> holder = stage_with(before_, layer);
      if (!holder || is_held(layer)) continue;
      from[*holder] += parameters_without(graph_, layer, is_there) * (1 + after_.training.optimizer_copies);
    }
    Seconds arrived = -drained_[std::min(own, before_.stages.size())];
    for (const auto& [holder, bytes] : from) {
      const Seconds start = std::max(arrived, -drained_[holder]);
      arrived = start + transfer_time(platform_, lead(before_.stages[holder]), device, bytes);
    }
    return arrived;
  }

 private:
  const LayerGraph& graph_;
  const Platform& platform_;
  const Plan& before_;
  const Plan& after_;
  std::vector<Seconds> drained_;  ///< by stage: how much earlier than the first one it has drained
};

/// The tensors between neighbouring stages, one way.
std::vector<Seconds> transfers_of(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  std::vector<Seconds> times(plan.stages.size());
  for (const Boundary& boundary : boundaries(graph, plan)) {
    if (boundary.to.value() != boundary.from.value() + 1) continue;
    const Stage& from = plan.stages[boundary.from.value()];
    times[boundary.from.value()] =
        transfer_time(platform, lead(from), lead(plan.stages[boundary.to.value()]), boundary.bytes);
  }
  return times;
}

}  // namespace

std::optional<double> observed_imbalance(const Observation& seen, const Plan& plan) {
  const std::size_t known = seen.stages.size();
  if (known < plan.stages.size()) return std::nullopt;
  double largest = 0.0;
  double sum = 0.0;
  int stages = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::optional<double> time = time_of(seen.stages[StageId(known - plan.stages.size() + s)]);
    if (!time) continue;
    const double share = *time / static_cast<double>(plan.stages[s].replicas.size());
    largest = std::max(largest, share);
    sum += share;
    ++stages;
  }
  if (stages == 0 || sum <= 0.0) return std::nullopt;
  return largest / (sum / stages) - 1.0;
}

Seconds switch_stall(const LayerGraph& graph, const Platform& platform, const Plan& before, const Plan& after,
                     Seconds time_after) {
  const Fetching fetching(graph, platform, before, after);
  const std::vector<Seconds> transfers = transfers_of(graph, platform, after);
  Seconds reached;  // when the first forward gets to the stage, if no stage before it fetches anything
  Seconds late{0};
  Seconds whole{0};  // of the first microbatch
  for (std::size_t s = 0; s < after.stages.size(); ++s) {
    const StageTime time = stage_time(graph, platform, after.stages[s]);
    late = std::max(late, fetching.arrival(s) - reached);
    reached += time.forward + transfers[s];
    whole += time.total() + transfers[s] * 2.0;
  }
  return is_asynchronous(after.schedule) ? std::max(Seconds(0), late + whole - time_after) : late;
}

}  // namespace stagecraft
