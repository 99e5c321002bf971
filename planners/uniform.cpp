#include "planners/cost_model.hpp"
#include "planners/planner.hpp"
#include "sim/base/error.hpp"
#include "sim/model/graph_order.hpp"

#include <algorithm>
#include <limits>

namespace stagecraft {

extern const PlannerInfo uniform_planner;

namespace {

/// Cuts a chain into as many non-empty pieces as there are factors, so that the largest factor × sum is smallest.
///
/// best(p, j) is the least largest time of the first p pieces over the first j items:
///   best(p, j) = min over p - 1 <= i < j of max(best(p - 1, i), factor_p × (prefix_j − prefix_i)).
/// The second term never falls as i goes down, so the scan from i = j - 1 stops once it reaches the best value found.
/// (best(p - 1, i) need not be monotone in i: pieces are non-empty and factors differ.) The witness is the stored i.
/// **Shape** `prefix` has one entry more than there are items; the result holds the first item of every piece.
/// **Requires** at least as many items as factors. **Cost** O(pieces · items²) at worst.
// NOLINTNEXTLINE(readability-function-size): the recurrence is three loops and a comparison
std::vector<std::size_t> balanced_cuts(const std::vector<double>& prefix, const std::vector<double>& factors) {
  const std::size_t items = prefix.size() - 1;
  const std::size_t pieces = factors.size();
  std::vector<std::vector<std::size_t>> cut(pieces, std::vector<std::size_t>(items + 1));
  std::vector<double> best(items + 1);
  for (std::size_t j = 0; j <= items; ++j) best[j] = factors[0] * prefix[j];
  for (std::size_t p = 1; p < pieces; ++p) {
    std::vector<double> next(items + 1, std::numeric_limits<double>::infinity());
    for (std::size_t j = p + 1; j <= items; ++j) {
      for (std::size_t i = j; i-- > p;) {
        const double piece = factors[p] * (prefix[j] - prefix[i]);
        if (piece >= next[j]) break;
        if (best[i] < next[j]) {
          next[j] = std::max(best[i], piece);
          cut[p][j] = i;
        }
      }
    }
    best = std::move(next);
  }
  std::vector<std::size_t> first(pieces);
  for (std::size_t p = pieces, end = items; p-- > 1;) first[p] = end = cut[p][end];
  return first;
}

/// Which devices each stage gets: runs of `replicas` in platform order.
std::vector<std::vector<DeviceId>> device_runs(std::size_t stage_count, std::size_t replicas) {
  std::vector<std::vector<DeviceId>> runs(stage_count);
  for (std::size_t i = 0; i < stage_count * replicas; ++i) runs[i / replicas].emplace_back(i);
  return runs;
}

std::size_t stage_count(const PlanRequest& request, std::size_t replicas) {
  const std::size_t device_count = request.platform.devices.size();
  const std::size_t layer_count = request.graph.layers.size();
  const auto wanted = static_cast<std::size_t>(request.options.count("stages"));
  if (replicas > device_count) {
    throw InputError("planner 'uniform': " + std::to_string(replicas) + " replicas on " + std::to_string(device_count) +
                     " devices");
  }
  if (wanted == 0) return std::min(device_count / replicas, layer_count);
  if (wanted * replicas > device_count) {
    throw InputError("planner 'uniform': " + std::to_string(wanted) + " stages of " + std::to_string(replicas) +
                     " replicas need " + std::to_string(wanted * replicas) + " devices, the platform has " +
                     std::to_string(device_count));
  }
  if (wanted > layer_count) {
    throw InputError("planner 'uniform': " + std::to_string(wanted) + " stages, but the model has only " +
                     std::to_string(layer_count) + " layers");
  }
  return wanted;
}

std::vector<std::vector<LayerId>> recompute_segments(const std::vector<LayerId>& layers, const std::string& what) {
  if (what == "none") return {};
  if (what == "stage") return {layers};
  std::vector<std::vector<LayerId>> segments;
  for (LayerId layer : layers) segments.push_back({layer});
  return segments;
}

std::vector<Stage> cut_stages(const PlanRequest& request, const std::vector<std::vector<DeviceId>>& runs) {
  const std::string& recompute = request.options.word("recompute");
  const std::vector<LayerId> order = canonical_order(request.graph);
  std::vector<double> prefix(order.size() + 1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Layer& layer = request.graph.layers[order[i]];
    const Seconds again = recompute == "none" ? Seconds(0) : layer.forward;
    prefix[i + 1] = prefix[i] + (layer.forward + layer.backward + again).value();
  }
  std::vector<double> factors;
  for (const std::vector<DeviceId>& run : runs) {
    factors.push_back(slowest_factor(request.graph, request.platform, run));
  }
  const std::vector<std::size_t> first = balanced_cuts(prefix, factors);
  std::vector<Stage> stages(runs.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const std::size_t end = s + 1 < stages.size() ? first[s + 1] : order.size();
    stages[s].layers.assign(order.begin() + static_cast<std::ptrdiff_t>(first[s]),
                            order.begin() + static_cast<std::ptrdiff_t>(end));
    stages[s].devices = runs[s];
    stages[s].recompute = recompute_segments(stages[s].layers, recompute);
  }
  return stages;
}

PlanResult plan_uniform(const PlanRequest& request) {
  const auto replicas = static_cast<std::size_t>(request.options.count("replicas"));
  Plan plan = empty_plan(uniform_planner, request);
  plan.stages = cut_stages(request, device_runs(stage_count(request, replicas), replicas));
  Seconds largest{0};
  for (const Stage& stage : plan.stages) {
    largest = std::max(largest, stage_time(request.graph, request.platform, stage).total());
  }
  plan.predicted = claimed_figures(plan, largest, static_cast<std::int64_t>(replicas));
  return judged(request, {std::move(plan), {{"stage_time_s", largest.value()}}});
}

}  // namespace

const PlannerInfo uniform_planner{
    .name = "uniform",
    .summary = "contiguous stages of equal compute, one device or an equal number of replicas each",
    .source = "common practice; the exact minimiser of the largest stage time",
    .default_schedule = "1f1b",
    .options = {{"stages", std::int64_t{0}, "number of stages; 0: as many as the devices allow", {}, 0},
                {"replicas", std::int64_t{1}, "devices of every stage", {}, 1},
                {"recompute",
                 std::string("none"),
                 "what is recomputed in the backward: nothing, each layer by itself, or the whole stage",
                 {"none", "layer", "stage"}}},
    .plan = plan_uniform,
};

}  // namespace stagecraft
