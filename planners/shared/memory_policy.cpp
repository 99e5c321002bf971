#include "planners/shared/memory_policy.hpp"

#include "planners/shared/least_memory.hpp"
#include "planners/shared/limits.hpp"
#include "planners/shared/saved_cut.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

bool has_actions(const Plan& plan) {
  return std::ranges::any_of(plan.stages, [](const Stage& stage) { return !stage.memory.empty(); });
}

/// Whether the planner has made the plan fit with fewer microbatches in flight.
bool has_caps(const Plan& plan) {
  return std::ranges::any_of(plan.stages, [](const Stage& stage) { return stage.in_flight.has_value(); });
}

/// The time by which two plans of one planner are compared.
Seconds claimed(const Planned& planned) {
  const Figures& figures = planned.plan.predicted;
  return figures.period ? *figures.period : figures.iteration_time.value_or(Seconds(0));
}

template <class Action>
std::int64_t layers_with(const Plan& plan) {
  std::int64_t layers = 0;
  for (const Stage& stage : plan.stages) {
    for (const Action& action : actions_of<Action>(stage)) layers += std::ssize(action.layers);
  }
  return layers;
}

std::string saving_note(const LayerGraph& graph, const Plan& plan) {
  const std::int64_t recomputed = layers_with<Recompute>(plan);
  const std::int64_t swapped = layers_with<Swap>(plan);
  std::string what = recomputed > 0 ? "recomputes " + std::to_string(recomputed) : "";
  if (swapped > 0) what += (what.empty() ? "swaps " : " and swaps ") + std::to_string(swapped);
  return "the plan does not fit as it is; it " + what + " of " + counted(graph.layers.size(), "layer");
}

PlanRequest with_policy(const PlanRequest& request, MemoryPolicy policy) {
  PlanRequest other = request;
  other.memory = policy;
  return other;
}

/// The cut that the planner makes for `asked`, with the cheapest actions of `request`.
class CutsThatSave {
 public:
  CutsThatSave(const PlannerInfo& planner, const PlanRequest& request) : planner_(planner), request_(request) {}

  void add(const PlanRequest& asked) {
    const std::optional<Planned> found = cut(asked);
    if (!found || has_actions(found->plan)) return;
    take(request_, *found);
    if (request_.memory == MemoryPolicy::Cheapest) take(with_policy(request_, MemoryPolicy::Recompute), *found);
  }

  [[nodiscard]] std::optional<Planned>& best() { return best_; }

 private:
  /// What the planner refuses is no cut.
  [[nodiscard]] std::optional<Planned> cut(const PlanRequest& asked) const {
    try {
      PlanResult result = planner_.plan(asked);
      auto* planned = std::get_if<Planned>(&result);
      return planned == nullptr ? std::nullopt : std::optional(std::move(*planned));
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  /// A schedule may refuse the cut with actions, such as a pattern whose operations take longer.
  void take(const PlanRequest& request, const Planned& cut) {
    try {
      std::optional<Planned> saved = with_savings(request, cut);
      if (saved && (!best_ || claimed(*saved) < claimed(*best_))) best_ = std::move(saved);
    } catch (const InputError&) {
      return;
    }
  }

  const PlannerInfo& planner_;
  const PlanRequest& request_;
  std::optional<Planned> best_;
};

/// The least memory that the planner knows is that of plans without actions, so it is sought again where that is quick:
/// with recomputation alone, since what swaps need takes an evaluation.
void add_refusal(const PlannerInfo& planner, const PlanRequest& request, Infeasible& none) {
  constexpr double kQuick = 5e7;             // nanoseconds of planning
  constexpr std::size_t kFewStages = 4'096;  // layers times devices
  const bool swaps = request.memory != MemoryPolicy::Recompute;
  const bool recomputes = request.memory != MemoryPolicy::Swap;
  none.reason += std::string("; nor does it fit if layers are ") + (recomputes ? "recomputed" : "") +
                 (swaps && recomputes ? " or " : "") + (swaps ? "swapped" : "");
  none.smallest_memory.reset();
  none.search.reset();
  const std::size_t size = request.graph.layers.size() * request.platform.devices.size();
  if (none.is_costly || none.work > kQuick || size > kFewStages) return;
  Bytes smallest = kMostMemory;
  for (const DeviceId device : indices(request.platform.devices)) {
    smallest = std::min(smallest, request.platform.memory(device));
  }
  const auto finds = [&planner](const PlanRequest& larger) {
    return std::holds_alternative<Planned>(plan_within_memory(planner, with_policy(larger, MemoryPolicy::Recompute)));
  };
  if (recomputes) none.search = MemorySearch{std::max(Bytes(1), smallest), finds};
}

}  // namespace

LayerGraph with_all_recomputed(LayerGraph graph) {
  for (Layer& layer : graph.layers) {
    layer.workspace += std::max(layer.stash - layer.checkpoint, Bytes(0));
    layer.stash = std::min(layer.stash, layer.checkpoint);
    layer.backward += layer.forward;
    layer.keeps.clear();
  }
  return graph;
}

PlanResult plan_within_memory(const PlannerInfo& planner, const PlanRequest& request) {
  PlanResult kept = planner.plan(request);
  if (request.memory == MemoryPolicy::Keep || planner.saves_memory) return kept;
  auto* fits = std::get_if<Planned>(&kept);
  if (fits != nullptr && (!has_caps(fits->plan) || has_actions(fits->plan))) return kept;
  CutsThatSave cuts(planner, request);
  const Platform roomy = with_memory(request.platform, kMostMemory);
  cuts.add(on_platform(request, roomy));
  const LayerGraph recomputed = with_all_recomputed(request.graph);
  cuts.add(on_graph(request, recomputed));
  std::optional<Planned>& best = cuts.best();
  if (fits != nullptr && (!best || claimed(*fits) <= claimed(*best))) return kept;
  if (best) {
    if (has_actions(best->plan)) best->notes.push_back(saving_note(request.graph, best->plan));
    return *std::move(best);
  }
  add_refusal(planner, request, std::get<Infeasible>(kept));
  return kept;
}

}  // namespace stagecraft
