#include "planners/shared/savings/saving_pipeline.hpp"

#include "planners/shared/costs/chain.hpp"
#include "planners/shared/savings/stage_devices.hpp"
#include "sim/base/error.hpp"
#include "sim/model/graph_order.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace stagecraft {

// Planners ask for each stage with many choices of its cuts. What a stage keeps is not the sum of its layers' stashes,
// since a tensor that several layers keep counts once in a stage. It counts at the last of them, where the walk of
// `stage_program` from the last layer to the first meets it. So what a unit keeps depends on the stage in one way only:
// on which layers of the stage are the first user and the last keeper of each tensor that the unit keeps or reads.
//
// **Invariant**: if the stage has all users of these tensors (`WholeGroup::within`), these layers are the same as in
// the whole network, and the unit's figures are those that have been found once, in the constructor. Only for a unit
// near a cut, or one that the cut divides, are they found anew, for the part that the stage has. If all units of a
// stage are kept, their stashes add up to what the ledger counts.

namespace {

/// A power of two so small that whole multiples of it represent a microbatch's time on one device to some 50 bits.
double time_grid(const LayerGraph& graph) {
  const LayerTotals sums = totals(graph);
  const double all = (sums.forward + sums.backward).value();
  return all > 0.0 ? std::ldexp(1.0, std::ilogb(all) - 50) : 1.0;
}

void append_action(UnitAction action, std::vector<LayerId> layers, std::vector<MemoryAction>& actions) {
  if (action == UnitAction::Keep) return;
  if (action == UnitAction::Swap) {
    actions.emplace_back(Swap{std::move(layers)});
  } else if (action == UnitAction::Recompute) {
    actions.emplace_back(Recompute{std::move(layers)});
  } else {
    std::vector<LayerId>& segment = std::get<Recompute>(actions.back()).layers;
    segment.insert(segment.end(), layers.begin(), layers.end());
  }
}

}  // namespace

SavingPipeline::SavingPipeline(const PlannerInfo& planner, const PlanRequest& request,
                               const SavingPipelineSettings& settings)
    : planner_(planner),
      request_(request),
      settings_(settings),
      order_(canonical_order(request.graph)),
      stage_units_(request.graph, order_),
      bounds_(unit_bounds(request.graph, order_, settings.cuts)),
      places_(stage_places(planner, request, stage_devices(planner, request, units()))),
      compute_(order_.size() + 1),
      parameters_(parameter_sums(request.graph, order_)),
      cut_bytes_(cut_bytes_with_ends(request.graph, order_)),
      stash_(stash_sums(request.graph, order_)),
      crossings_(request.graph, order_),
      pending_(order_.size() + 1),
      boundary_buffers_(request.training.boundary_buffers) {
  for (StagePlace& place : places_) {
    place.resident = settings.resident > 0 ? std::min(place.in_flight, settings.resident) : resident_swaps(place);
    if (!settings.swaps || !may_swap(request.memory)) place.host_bandwidth = 0.0;
  }
  // On a grid sums are exact, so equal layers take equal times wherever they stand.
  const double grid = time_grid(request.graph);
  for (std::size_t at = 0; at < order_.size(); ++at) {
    const Layer& layer = request.graph.layers[order_[at]];
    compute_[at + 1] = compute_[at] + Seconds(std::round((layer.forward + layer.backward).value() / grid) * grid);
  }
  // A tensor is pending at the cuts from behind its producer up to before its last user.
  for (std::size_t producer = 0; producer < order_.size(); ++producer) {
    const std::vector<Crossings::Use>& uses = crossings_.uses_of(producer);
    for (std::size_t cut = producer + 1; !uses.empty() && cut <= uses.back().at; ++cut)
      pending_[cut].push_back(producer);
  }
  groups_ = whole_groups(unit_bounds(request.graph, order_, settings.actions));
}

Seconds SavingPipeline::transfer(std::size_t cut, std::size_t before) const {
  return cut_bytes(cut) / places_[before].bandwidth;
}

std::vector<SavingPipeline::WholeGroup> SavingPipeline::whole_groups(const std::vector<std::size_t>& bounds) const {
  const Group all{0, order_.size()};
  std::vector<WholeGroup> groups;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    const Group layers{bounds[i], bounds[i + 1]};
    WholeGroup& group = groups.emplace_back(WholeGroup{layers, layers, saving_unit(layers, all)});
    const auto widen = [&](std::uint32_t tensor) {
      const std::vector<std::size_t>& users = stage_units_.users(tensor);
      if (users.empty()) return;
      group.within.begin = std::min(group.within.begin, users.front());
      group.within.end = std::max(group.within.end, users.back() + 1);
    };
    for (std::size_t at = layers.begin; at < layers.end; ++at) {
      std::ranges::for_each(request_.graph.layers[order_[at]].keeps, widen);
      std::ranges::for_each(request_.graph.layers[order_[at]].reads, widen);
    }
  }
  return groups;
}

std::size_t SavingPipeline::group_at(std::size_t layer) const {
  const auto behind =
      std::ranges::upper_bound(groups_, layer, {}, [](const WholeGroup& group) { return group.layers.begin; });
  return static_cast<std::size_t>(behind - groups_.begin()) - 1;
}

SavingPipeline::Group SavingPipeline::common(const Group& group, const Group& stage) {
  return {std::max(group.begin, stage.begin), std::min(group.end, stage.end)};
}

SavingStage SavingPipeline::stage(std::size_t stage, std::size_t begin, std::size_t end) const {
  const StagePlace& place = places_[stage];
  const Training& training = request_.training;
  const Group layers{bounds_[begin], bounds_[end]};
  const std::int64_t copies = place.weight_versions + training.gradient_copies + training.optimizer_copies;
  SavingStage result;
  for (std::size_t i = group_at(layers.begin); i < groups_.size() && groups_[i].layers.begin < layers.end; ++i) {
    const Group& within = groups_[i].within;
    const bool is_known = layers.begin <= within.begin && within.end <= layers.end;
    SavingUnit unit = is_known ? groups_[i].unit : saving_unit(common(groups_[i].layers, layers), layers);
    unit.forward = unit.forward * place.factor;
    unit.backward = unit.backward * place.factor;
    result.units.push_back(unit);
  }
  StageBudget& budget = result.budget;
  budget.in_flight = place.in_flight;
  budget.resident = place.resident;
  budget.held = parameters_(layers.begin, layers.end) * copies + exchanged(layers) * boundary_buffers_;
  budget.capacity = place.capacity;
  budget.bandwidth = place.host_bandwidth;
  budget.half_duplex = place.half_duplex;
  budget.unhidden = unhidden_time(place, result.units);
  if (settings_.has_segments && may_recompute(request_.memory)) {
    result.segments = [this, layers](std::size_t first, std::size_t last) { return segments(layers, first, last); };
  }
  return result;
}

std::vector<SavingUnit> SavingPipeline::segments(const Group& stage, std::size_t begin, std::size_t end) const {
  const std::size_t first = group_at(stage.begin);
  std::vector<std::size_t> begins;
  for (std::size_t i = first + end; i-- > first + begin;) begins.push_back(common(groups_[i].layers, stage).begin);
  return stage_units_.units_before(common(groups_[first + end - 1].layers, stage).end, begins, stage);
}

SavingUnit SavingPipeline::saving_unit(const Group& group, const Group& stage) const {
  SavingUnit unit = stage_units_.unit(group, stage);
  if (!may_recompute(request_.memory)) unit.checkpoint = unit.stash;  // recomputation saves nothing
  return unit;
}

/// What comes in is known: of each tensor the stage gets its largest use inside. What goes out depends on the cuts
/// behind, so each tensor counts as sent once, at its largest use there.
Bytes SavingPipeline::exchanged(const Group& stage) const {
  const auto largest_use = [&](std::size_t producer, std::size_t begin, std::size_t end) {
    const std::vector<Crossings::Use>& uses = crossings_.uses_of(producer);
    Bytes largest;
    for (auto use = std::ranges::lower_bound(uses, begin, {}, &Crossings::Use::at); use != uses.end() && use->at < end;
         ++use) {
      largest = std::max(largest, use->bytes);
    }
    return largest;
  };
  Bytes sum;
  for (const std::size_t producer : pending_[stage.begin]) sum += largest_use(producer, stage.begin, stage.end);
  for (const std::size_t producer : pending_[stage.end]) {
    if (producer >= stage.begin) sum += largest_use(producer, stage.end, order_.size());
  }
  return sum;
}

std::optional<std::vector<std::size_t>> SavingPipeline::cuts_of(const Plan& plan) const {
  if (plan.stages.size() != stages()) return std::nullopt;
  std::vector<std::size_t> cuts{0};
  for (std::size_t s = 0; s < stages(); ++s) {
    const Stage& stage = plan.stages[s];
    const std::size_t begin = bounds_[cuts.back()];
    const auto end = std::ranges::find(bounds_, begin + stage.layers.size());
    if (end == bounds_.end() || stage.layers.empty() || devices_of(stage) != places_[s].devices) return std::nullopt;
    if (stage.layers != layers_in(order_, begin, *end)) return std::nullopt;
    cuts.push_back(static_cast<std::size_t>(end - bounds_.begin()));
  }
  return cuts;
}

Plan SavingPipeline::plan(std::span<const std::size_t> cuts, std::span<const StageSaving> savings) const {
  Plan plan = empty_plan(planner_, request_);
  plan.rounds_per_update = rounds_per_update(request_, places_.front().devices.size());
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    Stage& stage = plan.stages.emplace_back();
    stage.layers = layers_in(order_, bounds_[cuts[s]], bounds_[cuts[s + 1]]);
    stage.replicas.assign(places_[s].devices.begin(), places_[s].devices.end());
    const Group layers{bounds_[cuts[s]], bounds_[cuts[s + 1]]};
    const std::size_t first = group_at(layers.begin);
    const std::vector<UnitAction>& actions = savings[s].actions;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const Group part = common(groups_[first + i].layers, layers);
      append_action(actions[i], layers_in(order_, part.begin, part.end), stage.memory);
    }
    if (std::ranges::count(actions, UnitAction::Swap) > 0) {
      stage.swap_backlog = swap_backlog(places_[s]);
    }
  }
  return plan;
}

}  // namespace stagecraft
