#include "planners/shared/savings/saving_pipeline.hpp"

#include "planners/shared/costs/chain.hpp"
#include "planners/shared/savings/stage_devices.hpp"
#include "sim/base/error.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/memory_ledger.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace stagecraft {

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
      order_(canonical_order(request.graph)),
      bounds_(unit_bounds(request.graph, order_, settings.cuts)),
      places_(stage_places(planner, request, stage_devices(planner, request, units()))),
      compute_(order_.size() + 1),
      parameters_(parameter_sums(request.graph, order_)),
      experts_(expert_sums(request.graph, order_)),
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
  const auto table_of = [&](UnitGrain grain) {
    return std::make_shared<UnitTable>(request.graph, order_, unit_bounds(request.graph, order_, grain));
  };
  action_units_ = table_of(settings.actions);
  if (!settings.segments || !may_recompute(request.memory)) return;
  segment_units_ = *settings.segments == settings.actions ? action_units_ : table_of(*settings.segments);
}

Seconds SavingPipeline::transfer(std::size_t cut, std::size_t before) const {
  return cut_bytes(cut) / places_[before].bandwidth;
}

SavingStage SavingPipeline::stage(std::size_t stage, std::size_t begin, std::size_t end) const {
  return stage_with(*action_units_, stage, begin, end);
}

SavingStage SavingPipeline::coarse_stage(std::size_t stage, std::size_t begin, std::size_t end) const {
  return stage_with(*segment_units_, stage, begin, end);
}

StageSaving SavingPipeline::refined(StageSaving coarse, std::size_t begin, std::size_t end) const {
  const UnitTable::Run stage = layers(begin, end);
  std::vector<UnitAction> actions;
  for (std::size_t i = 0; i < coarse.actions.size(); ++i) {
    UnitAction action = coarse.actions[i];
    const std::size_t behind = segment_units_->layers(stage, i).end;
    while (actions.empty() || action_units_->layers(stage, actions.size() - 1).end < behind) {
      actions.push_back(action);
      if (action == UnitAction::Recompute) action = UnitAction::Join;
    }
  }
  coarse.actions = std::move(actions);
  return coarse;
}

SavingStage SavingPipeline::stage_with(UnitTable& units, std::size_t stage, std::size_t begin, std::size_t end) const {
  const StagePlace& place = places_[stage];
  const UnitTable::Run layers = this->layers(begin, end);
  const std::int64_t replicas = std::ssize(place.devices);
  const HeldParameters held{parameters_(layers.begin, layers.end), place.weight_versions,
                            replicas * request_.graph.copies.plain, experts_(layers.begin, layers.end),
                            replicas * request_.graph.copies.experts};
  const auto on_place = [factor = place.factor, recomputes = may_recompute(request_.memory)](auto own) {
    for (SavingUnit& unit : own) {
      unit.forward = unit.forward * factor;
      unit.backward = unit.backward * factor;
      if (!recomputes) unit.checkpoint = unit.stash;  // recomputation saves nothing
    }
    return own;
  };
  SavingStage result;
  result.units = on_place(units.units(layers));
  StageBudget& budget = result.budget;
  budget.in_flight = place.in_flight;
  budget.resident = place.resident;
  budget.held = kept_state(request_.training, held).total() + exchanged(layers) * boundary_buffers_;
  budget.capacity = place.capacity;
  budget.bandwidth = place.host_bandwidth;
  budget.half_duplex = place.half_duplex;
  budget.unhidden = unhidden_time(place, result.units);
  if (&units == segment_units_.get()) {
    result.segments = [&units, layers, on_place](std::size_t first, std::size_t last) {
      return on_place(units.segments(layers, first, last));
    };
    result.likeness = units.likeness(layers);
  }
  return result;
}

/// What comes in is known: of each tensor the stage gets its largest use inside. What goes out depends on the cuts
/// behind, so each tensor counts as sent once, at its largest use there.
Bytes SavingPipeline::exchanged(const UnitTable::Run& stage) const {
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
    const UnitTable::Run layers = this->layers(cuts[s], cuts[s + 1]);
    stage.layers = layers_in(order_, layers.begin, layers.end);
    stage.replicas.assign(places_[s].devices.begin(), places_[s].devices.end());
    const std::vector<UnitAction>& actions = savings[s].actions;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const UnitTable::Run part = action_units_->layers(layers, i);
      append_action(actions[i], layers_in(order_, part.begin, part.end), stage.memory);
    }
    if (std::ranges::count(actions, UnitAction::Swap) > 0) {
      stage.swap_backlog = swap_backlog(places_[s]);
    }
  }
  return plan;
}

}  // namespace stagecraft
