#include "sim/analytic/class_bound.hpp"

#include "sim/analytic/class_cuts.hpp"
#include "sim/analytic/class_search.hpp"
#include "sim/analytic/class_stages.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace stagecraft {
namespace {

/// Where the search ends, as a part of the time.
constexpr double kPrecision = 1e-4;
/// So much is taken off for the rounding of sums.
constexpr double kRoundingOfSums = 1e-11;

/// Up to the first time for which a plan may exist, from one for which none does.
double least_time(ClassSearch& search, double none) {
  double low = none;
  double high = 2.0 * none;
  for (ClassSearch::Answer answer = search.within(high); !answer.may_exist; answer = search.within(high)) {
    low = std::max(high, answer.next);
    high = 2.0 * low;
  }
  while (high - low > kPrecision * low) {
    const double middle = (low + high) / 2.0;
    const ClassSearch::Answer answer = search.within(middle);
    if (answer.may_exist) {
      high = middle;
    } else {
      low = std::min(std::max(middle, answer.next), high);
    }
  }
  return low;
}

}  // namespace

std::optional<ClassBound> class_bound(const LayerGraph& graph, const Platform& platform, const Training& training,
                                      std::int64_t microbatches, const ClassBoundOptions& options) {
  const ClassStages stages(graph, platform, training, microbatches);
  const ClassCuts cuts(graph, stages, options.shares_links);
  ClassSearch search(stages, cuts, options.splits_backwards);
  const double work = static_cast<double>(microbatches) * stages.times().work();
  const ClassSearch::Answer answer = search.within(work);
  if (!answer.may_exist && !std::isfinite(answer.next)) return std::nullopt;
  const double time = answer.may_exist ? work : least_time(search, answer.next);
  return ClassBound{Seconds(time * (1.0 - kRoundingOfSums)), Seconds(work * (1.0 - kRoundingOfSums))};
}

bool is_in_class(const LayerGraph& graph, const Plan& plan) {
  if (!require_family(plan.schedule.name).synchronous || has_unequal_shares(plan)) return false;
  if (plan.degrees.devices() > 1 || graph.degrees.devices() > 1) return false;
  std::vector<LayerId> layers;
  std::set<DeviceId> devices;
  for (const Stage& stage : plan.stages) {
    if (stage.pipeline != 0) return false;
    layers.insert(layers.end(), stage.layers.begin(), stage.layers.end());
    for (const DeviceId device : devices_of(stage)) {
      if (!devices.insert(device).second) return false;
    }
  }
  return layers == canonical_order(graph);
}

bool splits_backwards(const ScheduleProgram& program) {
  if (program.orders_are_given) return true;
  if (!program.at_once) return false;
  if (program.repeats > 0) return program.has_halves;
  const Schedule all = program.orders({0, program.kept->plan.microbatches});
  const auto is_half = [](const Action& action) { return action.kind == ActionKind::BackwardWeight; };
  return std::ranges::any_of(all.devices,
                             [&](const DeviceOrder& order) { return std::ranges::any_of(order.actions, is_half); });
}

}  // namespace stagecraft
