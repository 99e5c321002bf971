#include "planners/shared/savings/saved_cut.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "planners/shared/costs/pipeline_claim.hpp"
#include "planners/shared/savings/exact_savings.hpp"
#include "planners/shared/savings/least_saving.hpp"
#include "planners/shared/savings/ledger_fit.hpp"
#include "planners/shared/savings/partly_kept.hpp"
#include "planners/shared/savings/saving_pipeline.hpp"
#include "planners/shared/savings/stage_units.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

constexpr std::size_t kManyUnits = 64;      ///< in a stage with more, fewer choices are followed
constexpr std::size_t kNarrowWidth = 1000;  ///< so many

/// The largest part of a microbatch that a replica of the stage runs.
double part_of(const Stage& stage, std::int64_t microbatch_size) {
  const Share share = largest_share(stage, microbatch_size);
  return static_cast<double>(samples_of(share, microbatch_size)) / static_cast<double>(microbatch_size);
}

Bytes part_of(Bytes bytes, double part) {
  return part == 1.0 ? bytes : Bytes(static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes.value()) * part)));
}

/// A stage of the cut: its layers as units, and what its devices hold beside them.
struct CutStage {
  std::vector<SavingUnit> units;
  Segments segments;
  Bytes held;  ///< beside the units, if it is alone on its devices; else the capacity is without that
};

/// What is chosen for a stage; none if nothing fits.
std::optional<StageSaving> cheapest(const SavingStage& stage, bool fills_memory) {
  const std::optional<StageSaving> kept = SavingChoice(stage.units, stage.budget).saving();
  const std::size_t width = stage.units.size() > kManyUnits ? kNarrowWidth : kSavingWidth;
  std::optional<StageSaving> found = exact_savings(stage, kept, width).saving;
  if (!found || !fills_memory) return found;
  return with_some_kept(stage, *std::move(found));
}

/// The microbatches that recompute the unit; they come first of those in flight.
Covered covered_part(const StageSaving& saving, std::size_t unit, std::int64_t in_flight) {
  const std::int64_t kept = saving.kept.empty() ? 0 : saving.kept[unit];
  return kept == 0 ? Covered() : Covered{in_flight - kept, in_flight};
}

std::vector<MemoryAction> memory_actions(const Stage& stage, const StageSaving& saving, std::int64_t in_flight) {
  std::vector<MemoryAction> actions;
  for (std::size_t i = 0; i < saving.actions.size(); ++i) {
    switch (saving.actions[i]) {
      case UnitAction::Keep: break;
      case UnitAction::Swap: actions.emplace_back(Swap{{stage.layers[i]}}); break;
      case UnitAction::Recompute:
        actions.emplace_back(Recompute{{stage.layers[i]}, covered_part(saving, i, in_flight)});
        break;
      case UnitAction::Join: std::get<Recompute>(actions.back()).layers.push_back(stage.layers[i]);
    }
  }
  return actions;
}

/// The stages of a plan while actions are chosen for them.
class SavedCut {
 public:
  SavedCut(const PlanRequest& request, Planned planned, const ScheduleProgram& program)
      : request_(request), planned_(std::move(planned)), places_(places_of(request, planned_.plan, program)) {
    const Plan& plan = planned_.plan;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      stages_.push_back(divided(plan.stages[s], part_of(plan.stages[s], plan.microbatch_size), places_[s].factor));
      places_[s].resident = resident_swaps(places_[s]);
      if (!may_swap(request.memory)) places_[s].host_bandwidth = 0.0;
    }
    share_memory(ledger_peaks(request.graph, request.platform, program));
    share_host_links(request, plan, may_swap(request.memory) ? lacking() : std::vector<char>(stages_.size()), places_);
  }

  [[nodiscard]] std::optional<Figures> estimate() const {
    const std::optional<SavedPlan> found = find();
    return found ? std::optional(claim(*found)) : std::nullopt;
  }

  std::optional<Planned> fitted() {
    const auto claims = [&](const SavedPlan& saved) { return claim(saved); };
    return fit_to_ledger(request_, places_, [&] { return find(); }, claims).planned;
  }

 private:
  /// `part`: of a microbatch, `factor`: of the profile's times.
  [[nodiscard]] CutStage divided(const Stage& stage, double part, double factor) const {
    const auto units_of = std::make_shared<const StageUnits>(request_.graph, stage.layers);
    const StageUnits::Run all{0, stage.layers.size()};
    const bool recomputes = may_recompute(request_.memory);
    const auto own = [=](SavingUnit unit) {
      unit.forward = unit.forward * (factor * part);
      unit.backward = unit.backward * (factor * part);
      unit.stash = part_of(unit.stash, part);
      unit.checkpoint = recomputes ? part_of(unit.checkpoint, part) : unit.stash;  // recomputation saves nothing
      unit.workspace = part_of(unit.workspace, part);
      unit.shared = part_of(unit.shared, part);
      return unit;
    };
    CutStage cut;
    for (std::size_t at = 0; at < all.end; ++at) cut.units.push_back(own(units_of->unit({at, at + 1}, all)));
    if (!recomputes) return cut;
    cut.segments = [=](std::size_t begin, std::size_t end) {
      std::vector<std::size_t> begins(end - begin);
      std::iota(begins.rbegin(), begins.rend(), begin);
      std::vector<SavingUnit> segments;
      for (const StageUnits::RunUnit& run : units_of->units_before(end, begins, all))
        segments.push_back(own(run.inner));
      return segments;
    };
    return cut;
  }

  /// Which stages do not fit if all their units are kept.
  [[nodiscard]] std::vector<char> lacking() const {
    std::vector<char> lacks;
    for (std::size_t s = 0; s < stages_.size(); ++s) lacks.push_back(kept_by(s) > places_[s].capacity ? 1 : 0);
    return lacks;
  }

  [[nodiscard]] SavingStage saving_stage(std::size_t s) const { return saving_stage(s, places_[s]); }
  [[nodiscard]] SavingStage saving_stage(std::size_t s, const StagePlace& place) const {
    return {stages_[s].units, budget(s, place), stages_[s].segments};
  }

  /// What a stage takes if all its units are kept.
  [[nodiscard]] Bytes kept_by(std::size_t s) const {
    return saved_memory(saving_stage(s), std::vector<UnitAction>(stages_[s].units.size(), UnitAction::Keep));
  }

  /// What a stage's units take if all are kept, and the least that they take whatever they do. That is left out of a
  /// stage that is alone on its devices, which gets all of them.
  struct Need {
    Bytes kept;
    Bytes least;
  };

  /// Gives each stage the least that it needs of each of its devices, and a part of what is left there in proportion to
  /// what its units take beyond that if all are kept.
  void share_memory(const std::vector<std::pair<DeviceId, Bytes>>& peaks) {
    std::map<DeviceId, std::size_t> stages_on;
    for (const StagePlace& place : places_) {
      for (const DeviceId device : place.devices) ++stages_on[device];
    }
    std::map<DeviceId, Need> sums;
    std::vector<Need> needs;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const auto shares = [&](DeviceId device) { return stages_on.at(device) > 1; };
      const bool is_alone = std::ranges::none_of(places_[s].devices, shares);
      needs.push_back({kept_by(s), is_alone ? Bytes(0) : least_saved_memory(saving_stage(s))});
      for (const DeviceId device : places_[s].devices) {
        sums[device].kept += needs.back().kept;
        sums[device].least += needs.back().least;
      }
    }
    const std::map<DeviceId, Bytes> peak_of(peaks.begin(), peaks.end());
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      std::optional<Bytes> smallest;
      for (const DeviceId device : places_[s].devices) {
        const Need& sum = sums.at(device);
        const Bytes held = std::max(peak_of.at(device) - sum.kept, Bytes(0));
        const Bytes left = request_.platform.capacity(device) - held - sum.least;
        const Bytes own = needs[s].least + part_of_rest(left, needs[s], sum);
        if (smallest && own >= *smallest) continue;
        smallest = own;
        if (needs[s].kept == sum.kept) stages_[s].held = held;
      }
      places_[s].capacity = *smallest + stages_[s].held;
    }
  }
  /// All of it for a stage that is alone on its device.
  static Bytes part_of_rest(Bytes left, const Need& own, const Need& sum) {
    if (own.kept == sum.kept) return left;
    const auto beyond = [](const Need& need) { return static_cast<double>((need.kept - need.least).value()); };
    if (beyond(sum) <= 0.0) return Bytes(0);
    return Bytes(static_cast<std::int64_t>(std::floor(static_cast<double>(left.value()) * beyond(own) / beyond(sum))));
  }

  [[nodiscard]] StageBudget budget(std::size_t s, const StagePlace& place) const {
    return {.in_flight = place.in_flight,
            .resident = place.resident,
            .held = stages_[s].held,
            .capacity = place.capacity,
            .bandwidth = place.host_bandwidth,
            .half_duplex = place.half_duplex,
            .other_traffic = place.boundary_traffic,
            .unhidden = unhidden_time(place, stages_[s].units)};
  }

  [[nodiscard]] std::optional<SavedPlan> find() const {
    SavedPlan saved{planned_, {}, {}};
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      std::optional<StageSaving> saving = cheapest(saving_stage(s), !request_.only_shape);
      if (!saving) return std::nullopt;
      Stage& stage = saved.planned.plan.stages[s];
      stage.memory = memory_actions(stage, *saving, places_[s].in_flight);
      saved.swapped.push_back(swapped_stash(stages_[s].units, saving->actions));
      if (saved.swapped.back() > Bytes(0)) stage.swap_backlog = swap_backlog(places_[s]);
      saved.savings.push_back(*std::move(saving));
    }
    const auto stage_in = [&](std::size_t s, const StagePlace& place) { return saving_stage(s, place); };
    share_links(request_, places_, stage_in, saved);
    saved.planned.plan.pattern = require_schedule(request_.graph, request_.platform, saved.planned.plan).pattern;
    return saved;
  }

  /// Of the shared cost model; where stages share devices, the evaluated time, or by the largest time of a device.
  [[nodiscard]] Figures claim(const SavedPlan& saved) const {
    const Plan& plan = saved.planned.plan;
    if (is_claim_evaluated(plan)) return evaluated_claim(request_, plan);
    std::set<DeviceId> devices;
    std::size_t places = 0;
    std::size_t fewest = plan.stages.front().replicas.size();
    Seconds slowest;  // of a microbatch, on one replica of a stage that has as many as any
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      const std::vector<DeviceId> own = devices_of(plan.stages[s]);
      devices.insert(own.begin(), own.end());
      places += own.size();
      fewest = std::min(fewest, own.size());
      slowest = std::max(slowest, saved.savings[s].time / static_cast<double>(alternating_replicas(plan.stages[s])));
    }
    if (devices.size() < places) {
      return claimed_figures(plan, largest_times(request_.graph, request_.platform, plan),
                             static_cast<std::int64_t>(fewest));
    }
    Figures figures = pipeline_claim(request_.graph, request_.platform, plan);
    if (figures.period) figures.period = std::max(*figures.period, slowest);
    if (figures.iteration_time) {
      figures.iteration_time = std::max(*figures.iteration_time, slowest * static_cast<double>(plan.microbatches));
    }
    return figures;
  }

  const PlanRequest& request_;
  Planned planned_;
  std::vector<StagePlace> places_;
  std::vector<CutStage> stages_;
};

}  // namespace

std::optional<Planned> with_savings(const PlanRequest& request, Planned planned) {
  const ScheduleProgram program = require_schedule(request.graph, request.platform, planned.plan);
  std::optional<Planned> saved = SavedCut(request, std::move(planned), program).fitted();
  if (saved) {
    saved->saved_by_policy =
        std::ranges::any_of(saved->plan.stages, [](const Stage& stage) { return !stage.memory.empty(); });
  }
  return saved;
}

std::optional<Figures> estimated_savings(const PlanRequest& request, const Planned& planned) {
  const ScheduleProgram program = require_schedule(request.graph, request.platform, planned.plan);
  return SavedCut(request, planned, program).estimate();
}

}  // namespace stagecraft
