#include "planners/shared/savings/memory_policy.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/limits.hpp"
#include "planners/shared/costs/pipeline_claim.hpp"
#include "planners/shared/savings/fastest_plan.hpp"
#include "planners/shared/savings/fastest_variant.hpp"
#include "planners/shared/savings/least_memory.hpp"
#include "planners/shared/savings/ledger_fit.hpp"
#include "planners/shared/savings/saved_cut.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

bool has_actions(const Plan& plan) {
  return std::ranges::any_of(plan.stages, [](const Stage& stage) { return !stage.memory.empty(); });
}

PlanRequest with_policy(const PlanRequest& request, MemoryPolicy policy) {
  PlanRequest other = request;
  other.memory = policy;
  return other;
}

/// The cut with actions of the policy. A schedule may refuse it, such as a pattern whose operations take longer.
std::optional<Planned> savings_of(const PlanRequest& request, const Planned& cut) {
  try {
    return with_savings(request, cut);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// The cut with the actions of the policy that have the best claim: with `cheapest`, where these swap, also those that
/// recompute only.
std::optional<Planned> cheapest_savings(const PlanRequest& request, const Planned& cut) {
  std::optional<Planned> best = savings_of(request, cut);
  if (request.memory == MemoryPolicy::Cheapest && (!best || std::ranges::count(swaps_of(best->plan), 1) > 0)) {
    std::optional<Planned> other = savings_of(with_policy(request, MemoryPolicy::Recompute), cut);
    if (other && (!best || claimed_time(other->plan) < claimed_time(best->plan))) best = std::move(other);
  }
  return best;
}

/// The same for all of the memory and, in small problems, for parts of it: what fits in less memory fits in more, but
/// the search for actions does not always find it there.
std::vector<std::optional<Planned>> savings_with_parts(const PlanRequest& request, const Planned& cut) {
  constexpr std::array kParts{0.875, 0.75, 0.625, 0.5};
  std::vector<std::optional<Planned>> all = {cheapest_savings(request, cut)};
  if (request.graph.layers.size() * request.platform.devices.size() > kMostUnitsToRepeat) return all;
  for (const double part : kParts) {
    const Platform smaller = with_part_of_memory(request.platform, part);
    all.push_back(cheapest_savings(on_platform(request, smaller), cut));
  }
  return all;
}

bool lacks_memory(const Infeasible& none) { return none.device || none.smallest_memory || none.search; }

/// What the planner makes of `asked`, without actions. What it refuses is no cut.
std::optional<Planned> cut_of(const PlannerInfo& planner, const PlanRequest& asked) {
  try {
    PlanResult result = planner.plan(asked);
    auto* planned = std::get_if<Planned>(&result);
    if (planned == nullptr || has_actions(planned->plan)) return std::nullopt;
    return std::move(*planned);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

bool has_hosts(const PlanRequest& request) {
  return std::ranges::any_of(request.platform.devices, [](const Device& device) { return !device.host.is_none(); });
}

/// The plan of a planner that chooses actions while it cuts. A plan with actions is compared with those for
/// recomputation and for swaps alone: these have other cuts, and all of a host link for fewer devices. While training
/// runs it is not: a cut found once more stays closer to the plan that runs.
PlanResult plan_that_saves(const PlannerInfo& planner, const PlanRequest& request) {
  PlanResult own = planner.plan(request);
  const auto* planned = std::get_if<Planned>(&own);
  const bool fits_as_it_is = planned != nullptr && !has_actions(planned->plan);
  const bool is_quick = request.graph.layers.size() * request.platform.devices.size() <= kMostUnitsToRepeat;
  if (request.memory != MemoryPolicy::Cheapest || !has_hosts(request) || fits_as_it_is || !is_quick ||
      request.running != nullptr) {
    return own;
  }
  FastestPlan fastest(planner, request);
  if (planned != nullptr) fastest.add(*planned);
  for (const MemoryPolicy policy : {MemoryPolicy::Recompute, MemoryPolicy::Swap}) {
    PlanResult other = planner.plan(with_policy(request, policy));
    if (auto* saving = std::get_if<Planned>(&other)) fastest.add(std::move(*saving));
  }
  return fastest.best() ? PlanResult(*std::move(fastest.best())) : own;
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

PlanResult judged_with_savings(const PlanRequest& request, const Planned& planned) {
  PlanResult result = judged(request, planned);
  if (std::holds_alternative<Planned>(result) || request.memory == MemoryPolicy::Keep || has_actions(planned.plan)) {
    return result;
  }
  if (std::optional<Planned> saved = cheapest_savings(request, planned)) return *std::move(saved);
  return result;
}

Infeasible saving_refusal(const PlannerInfo& planner, const PlanRequest& request, Infeasible none) {
  constexpr double kQuick = 5e7;             // nanoseconds of planning
  constexpr std::size_t kFewStages = 4'096;  // layers times devices
  constexpr std::size_t kFewSwaps = 512;     // the same, where swaps are weighed too
  if (request.memory == MemoryPolicy::Keep) return none;
  const bool swaps = may_swap(request.memory) && has_hosts(request);
  const bool recomputes = may_recompute(request.memory);
  if (request.memory == MemoryPolicy::Swap && !swaps) {
    none.reason += "; no device has a host (key 'host' of the platform), so nothing can be swapped";
  }
  if (!swaps && !recomputes) return none;
  none.reason += std::string("; nor does it fit if layers are ") + (recomputes ? "recomputed" : "") +
                 (swaps && recomputes ? " or " : "") + (swaps ? "swapped" : "");
  none.smallest_memory.reset();
  none.search.reset();
  const std::size_t size = request.graph.layers.size() * request.platform.devices.size();
  if (none.is_costly || none.work > kQuick || size > (recomputes ? kFewStages : kFewSwaps)) return none;
  Bytes smallest = kMostMemory;
  for (const DeviceId device : indices(request.platform.devices)) {
    smallest = std::min(smallest, request.platform.memory(device));
  }
  none.search = MemorySearch{std::max(Bytes(1), smallest), {}};
  if (size <= kFewSwaps) return none;
  none.search->finds = [&planner](const PlanRequest& larger) {
    return std::holds_alternative<Planned>(plan_within_memory(planner, with_policy(larger, MemoryPolicy::Recompute)));
  };
  return none;
}

namespace {

/// The plan of a planner that cuts without actions. What one that searches for cuts that fit would do with memory
/// without end may still be faster with actions than any cut that fits without.
PlanResult plan_with_common_policy(const PlannerInfo& planner, const PlanRequest& request) {
  const Platform roomy = with_memory(request.platform, kMostMemory);
  std::optional<Planned> wanted;
  if (planner.cuts_by_memory) {
    wanted = cut_of(planner, on_platform(request, roomy));
    if (wanted) {
      PlanResult result = judged(request, *wanted);
      if (std::holds_alternative<Planned>(result)) return result;
    }
  }
  PlanResult kept = planner.plan(request);
  auto* found = std::get_if<Planned>(&kept);
  if (found == nullptr && !lacks_memory(std::get<Infeasible>(kept))) return kept;
  if (found != nullptr && has_actions(found->plan)) return kept;
  if (found != nullptr && !planner.cuts_by_memory && !has_caps(found->plan)) return kept;
  if (!planner.cuts_by_memory) wanted = cut_of(planner, on_platform(request, roomy));
  FastestPlan fastest(planner, request);
  if (found != nullptr) fastest.add(*found);
  const auto add_saved = [&](const std::optional<Planned>& cut) {
    if (!cut) return;
    for (std::optional<Planned>& saved : savings_with_parts(request, *cut)) {
      if (saved) fastest.add(*std::move(saved));
    }
  };
  add_saved(wanted);
  const LayerGraph recomputed = with_all_recomputed(request.graph);
  add_saved(cut_of(planner, on_graph(request, recomputed)));
  if (fastest.best()) return *std::move(fastest.best());
  return saving_refusal(planner, request, std::get<Infeasible>(std::move(kept)));
}

PlanResult plan_that_fits(const PlannerInfo& planner, const PlanRequest& request) {
  if (planner.saves_memory && planner.cuts_by_memory) return plan_that_saves(planner, request);
  if (planner.saves_memory || request.memory == MemoryPolicy::Keep) return planner.plan(request);
  return plan_with_common_policy(planner, request);
}

/// That the planner does not know which devices are faster; none if all are equally fast.
std::optional<std::string> levelling_note(const PlannerInfo& planner, const PlanRequest& request) {
  std::vector<double> factors;
  for (const DeviceId device : indices(request.platform.devices)) {
    factors.push_back(require_time_factor(request.platform, request.graph.device_kind, device));
  }
  const auto fastest = std::ranges::min_element(factors);
  const auto slowest = std::ranges::max_element(factors);
  if (*fastest == *slowest) return std::nullopt;
  const DeviceId device(static_cast<std::size_t>(slowest - factors.begin()));
  return fmt::format("{} takes all devices for as fast as the slowest one, {}; others are up to {:.3g} times as fast",
                     planner.name, request.platform.devices[device].name, *slowest / *fastest);
}

/// Refuses, before a search, what the schedule refuses of every plan.
void require_flush(const PlannerInfo& planner, const PlanRequest& request) {
  const std::string& schedule = request.schedule.name;
  if (schedule.empty() || !is_asynchronous(request.schedule)) return;
  if (held_copies(request.graph) != Copies{}) {
    throw InputError(fmt::format("planner {}: schedule {} does not flush, so devices cannot divide tokens or experts",
                                 quote(planner.name), quote(schedule)),
                     {}, "use a schedule that flushes, such as 1f1b, or a planner that has one, such as uniform");
  }
  if (request.training.zero == 0) return;
  throw InputError(fmt::format("planner {}: schedule {} does not flush, so replicas cannot divide the optimizer's "
                               "state (zero {})",
                               quote(planner.name), quote(schedule), request.training.zero),
                   {}, "use a schedule that flushes, such as 1f1b; a planner that has one, such as uniform; or zero 0");
}

}  // namespace

PlanResult plan_within_memory(const PlannerInfo& planner, const PlanRequest& request) {
  require_flush(planner, request);
  PlanResult result =
      fastest_variant(planner, request, [&](const PlanRequest& asked) { return plan_that_fits(planner, asked); });
  auto* planned = std::get_if<Planned>(&result);
  if (planned != nullptr && planned->plan.predicted.period) {  // no search of a period knows of tied parameters
    Seconds& period = *planned->plan.predicted.period;
    period = std::max(period, tied_period(request.graph, request.platform, planned->plan));
  }
  if (planned != nullptr && planner.levels_devices) {
    if (auto note = levelling_note(planner, request)) planned->notes.push_back(*std::move(note));
  }
  return result;
}

}  // namespace stagecraft
