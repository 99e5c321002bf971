#include "planners/planner.hpp"
#include "planners/shared/costs/limits.hpp"
#include "planners/shared/costs/work.hpp"
#include "planners/shared/savings/fitted_plan.hpp"
#include "planners/shared/savings/layer_units.hpp"
#include "planners/shared/savings/saving_pipeline.hpp"
#include "planners/shared/savings/stage_devices.hpp"
#include "planners/vpipe/neighbour_moves.hpp"
#include "planners/vpipe/stage_savings.hpp"
#include "planners/vpipe/start_cuts.hpp"
#include "sim/base/text.hpp"
#include "sim/base/ticks.hpp"
#include "sim/model/graph_order.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {

extern const PlannerInfo vpipe_planner;

namespace vpipe {
namespace {

/// A unit that is this much longer than the average stage is told.
constexpr double kLongUnit = 1.5;

struct Settings {
  SavingRules rules;
  bool counts_boundaries = false;
  bool starts_as_pipedream = false;
  bool has_segments = false;  ///< any runs of units
};

Settings settings_of(const Options& options) {
  return {.rules = {.is_exact = options.word("sr") == "exact",
                    .is_suffix = options.word("recompute_style") == "suffix_segment"},
          .counts_boundaries = options.flag("plan_counts_boundary_traffic"),
          .starts_as_pipedream = options.word("start") == "pipedream",
          .has_segments = options.word("recompute_style") == "segments"};
}

/// A pass moves every unit at most once. Before each move it compares all moves over all boundaries, and up to 8 stages
/// are new since the last one.
void require_moves(std::size_t units, std::size_t stages) {
  const auto n = static_cast<double>(units);
  const auto s = static_cast<double>(stages);
  const double stage = 2.0 * n / s;  // units of a stage, with a margin for those that grow
  constexpr double kUnitSteps = 200.0;
  constexpr double kCostBytes = 250.0;  // of a stage that is remembered
  require_affordable(
      {.what = "moving " + std::to_string(units) + " units between " + std::to_string(stages) + " stages",
       .bytes = 16.0 * n * s + 8.0 * n * kCostBytes,
       .steps = n * n * s + n * 2.0 * s * 10.0 * s * std::log2(s + 1.0) + n * 8.0 * stage * kUnitSteps,
       .remedy = "use a model with blocks in place of layers, or plan for fewer devices"});
}

/// The stage with the traffic over its two boundaries: activations one way and gradients the other, in each direction.
SavingStage stage_with_traffic(const SavingPipeline& pipeline, bool counts_boundaries, std::size_t stage,
                               std::size_t begin, std::size_t end) {
  SavingStage result = pipeline.stage(stage, begin, end);
  if (counts_boundaries) result.budget.other_traffic = pipeline.cut_bytes(begin) + pipeline.cut_bytes(end);
  return result;
}

/// The cuts from which units are moved. What stages save is ignored.
std::vector<std::size_t> start_cuts(const SavingPipeline& pipeline, bool as_pipedream) {
  const std::size_t last = pipeline.stages() - 1;
  return least_sorted_cuts(
      pipeline.units(), pipeline.stages(), [&](std::size_t stage, std::size_t begin, std::size_t end) {
        const Seconds compute = (pipeline.compute(end) - pipeline.compute(begin)) * pipeline.places()[stage].factor;
        const bool sends = as_pipedream && stage < last && end < pipeline.units();
        return ticks_up(sends ? std::max(compute, pipeline.transfer(end, stage)) : compute);
      });
}

/// To three digits.
Detail::List recompute_shares(const std::vector<StageSaving>& savings) {
  Detail::List shares;
  for (const StageSaving& saving : savings) {
    const auto recomputed = static_cast<double>(std::ranges::count_if(saving.actions, is_recomputed));
    const double share = recomputed / static_cast<double>(saving.actions.size());
    shares.emplace_back(std::round(share * 1000.0) / 1000.0);
  }
  return shares;
}

Detail::List swapped_bytes(const SavingPipeline& pipeline, const SavedStages& found) {
  Detail::List swapped;
  for (std::size_t s = 0; s < found.savings.size(); ++s) {
    const std::vector<SavingUnit> units = pipeline.stage(s, found.cuts[s], found.cuts[s + 1]).units;
    Bytes bytes;
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (found.savings[s].actions[i] == UnitAction::Swap) bytes += units[i].stash;
    }
    swapped.emplace_back(bytes.value());
  }
  return swapped;
}

Detail::Record details_of(const SavingPipeline& pipeline, const SavedStages& found, std::int64_t passes,
                          const StageSavings& stages) {
  const Seconds slowest = std::ranges::max(found.savings, {}, &StageSaving::time).time;
  return {{"passes", passes},
          {"stage_evaluations", stages.evaluations()},
          {"cache_hits", stages.repeats()},
          {"slowest_stage_s", slowest.value()},
          {"recompute_share", recompute_shares(found.savings)},
          {"swapped_bytes", swapped_bytes(pipeline, found)}};
}

/// The longest unit, as a part of a stage of average computation.
double longest_unit(const SavingPipeline& pipeline) {
  Seconds longest{0};
  for (std::size_t unit = 0; unit < pipeline.units(); ++unit) {
    longest = std::max(longest, pipeline.compute(unit + 1) - pipeline.compute(unit));
  }
  return longest / (pipeline.compute(pipeline.units()) / static_cast<double>(pipeline.stages()));
}

std::vector<std::string> notes_of(const SavingPipeline& pipeline, const StageSavings& stages) {
  std::vector<std::string> notes;
  if (!stages.is_exact()) {
    notes.emplace_back("the best savings of some stages were too much work to find; good ones were taken");
  }
  const bool are_blocks = pipeline.request().options.word("granularity") == "blocks";
  if (const double longest = longest_unit(pipeline); are_blocks && longest > kLongUnit) {
    notes.push_back("a unit takes " + format_number(std::round(longest * 10.0) / 10.0) +
                    " times as long as the average stage; granularity=layers cuts inside blocks");
  }
  return notes;
}

/// The plan that runs, if its stages are made of the same units and have the same devices.
std::optional<RunningPlan> running_plan(const SavingPipeline& pipeline) {
  const PlanRequest& request = pipeline.request();
  if (request.running == nullptr) return std::nullopt;
  std::optional<std::vector<std::size_t>> cuts = pipeline.cuts_of(*request.running);
  if (!cuts) return std::nullopt;
  RunningPlan running{*std::move(cuts), {}};
  for (std::size_t unit = 0; unit < pipeline.units(); ++unit) {
    const Bytes parameters = pipeline.parameters(unit, unit + 1);
    running.bytes.push_back(parameters * (1 + request.training.optimizer_copies));
  }
  return running;
}

/// The cuts with the least sorted times of stages that fit with what they save; empty if there are none.
std::vector<std::size_t> fitting_cuts(const SavingPipeline& pipeline, StageSavings& stages) {
  return least_sorted_cuts(pipeline.units(), pipeline.stages(),
                           [&](std::size_t stage, std::size_t begin, std::size_t end) {
                             const StageCost cost = stages.cost(stage, begin, end);
                             return cost.overflow > Bytes(0) ? kNoStage : ticks_up(cost.time);
                           });
}

/// Whether all stages fit with what they save.
bool fit(const std::vector<std::size_t>& cuts, const CostOfStage& cost) {
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    if (cost(s, cuts[s], cuts[s + 1]).overflow > Bytes(0)) return false;
  }
  return true;
}

/// Units moved from the start cuts, or from those of the plan that runs; if the latter do not fit, from both, since
/// moves that first of all lack less memory may end far from balance. If the stages do not fit then, from cuts that do.
/// `starts`: other cuts from which they are moved, too.
MovedUnits moved_units(const SavingPipeline& pipeline, const Settings& settings, StageSavings& stages, bool is_last,
                       std::vector<std::vector<std::size_t>> starts) {
  const std::optional<RunningPlan> running = running_plan(pipeline);
  const CostOfStage cost = [&](std::size_t stage, std::size_t begin, std::size_t end) {
    return stages.cost(stage, begin, end);
  };
  if (running) starts.push_back(running->cuts);
  if (!running || !fit(running->cuts, cost)) starts.push_back(start_cuts(pipeline, settings.starts_as_pipedream));
  MovedUnits moved = move_units_from(std::move(starts), cost, running);
  const bool is_costly = pipeline.units() * pipeline.stages() > kMostUnitsToRepeat;
  if (!is_last || is_costly || fit(moved.cuts, cost)) return moved;
  std::vector<std::size_t> fitting = fitting_cuts(pipeline, stages);
  if (fitting.empty()) return moved;
  MovedUnits again = move_units(std::move(fitting), cost, running);
  again.passes += moved.passes;
  return again;
}

/// Cuts to which units were moved, and what their stages save; none if these do not fit.
struct FoundCuts {
  std::vector<std::size_t> cuts;
  std::optional<SavedStages> stages;

  /// Whether they recompute, or do not fit.
  [[nodiscard]] bool lack_memory() const { return !stages || std::ranges::any_of(stages->savings, recomputes); }
};

/// Units moved from the starts of `moved_units` and from these.
FoundCuts found_cuts(const SavingPipeline& pipeline, const Settings& settings, bool has_segments,
                     std::vector<std::vector<std::size_t>> starts) {
  StageSavings stages(
      [&](std::size_t stage, std::size_t begin, std::size_t end) {
        SavingStage given = stage_with_traffic(pipeline, settings.counts_boundaries, stage, begin, end);
        if (!has_segments) given.segments = {};
        return given;
      },
      settings.rules);
  MovedUnits moved = moved_units(pipeline, settings, stages, has_segments || !settings.has_segments, std::move(starts));
  FoundCuts found{moved.cuts, SavedStages{std::move(moved.cuts), {}}};
  for (std::size_t s = 0; s + 1 < found.cuts.size(); ++s) {
    std::optional<StageSaving> savings = stages.savings(s, found.cuts[s], found.cuts[s + 1]);
    if (!savings) return {std::move(found.cuts), std::nullopt};
    found.stages->savings.push_back(std::move(*savings));
  }
  found.stages->details = details_of(pipeline, *found.stages, moved.passes, stages);
  found.stages->notes = notes_of(pipeline, stages);
  return found;
}

/// With segments of any units, the cuts for units that are recomputed by themselves are where units are moved from,
/// too, so the slowest stage is no slower than without. Where such cuts do not fit, cuts that do are only looked for
/// with segments.
std::optional<SavedStages> find_stages(const SavingPipeline& pipeline, const Settings& settings) {
  FoundCuts found = found_cuts(pipeline, settings, settings.rules.is_suffix, {});
  if (!settings.has_segments || !found.lack_memory()) return std::move(found.stages);
  return found_cuts(pipeline, settings, true, {std::move(found.cuts)}).stages;
}

PlanResult plan_vpipe(const PlanRequest& request) {
  const Settings settings = settings_of(request.options);
  const UnitGrain grain = grain_of(request.options.word("granularity"));
  const bool has_runs = request.options.word("recompute_style") != "per_unit";
  SavingPipeline pipeline(vpipe_planner, request,
                          {.cuts = grain,
                           .actions = grain,
                           .resident = request.options.count("resident"),
                           .swaps = request.options.flag("swap"),
                           .segments = has_runs ? std::optional(grain) : std::nullopt});
  require_moves(pipeline.units(), pipeline.stages());
  const bool is_costly = pipeline.units() * pipeline.stages() > kMostUnitsToRepeat;
  PlanResult result =
      fitted_plan(std::move(pipeline), [&](const SavingPipeline& given) { return find_stages(given, settings); });
  if (auto* none = std::get_if<Infeasible>(&result); none != nullptr && is_costly) {
    none->search.reset();
    none->is_costly = true;
  }
  return result;
}

}  // namespace
}  // namespace vpipe

const PlannerInfo vpipe_planner{
    .name = "vpipe",
    .summary = "stages whose units are swapped to the host or recomputed, balanced by moving units between neighbours",
    .source = "Zhao et al., vPipe, IEEE TPDS 2022; its details are reconstructed",
    .default_schedule = "pipedream",
    .options =
        {stages_option("devices and units"),
         replicas_option(),
         {"sr",
          std::string("greedy"),
          "swaps and recomputations of a stage by vPipe's rules, or with the least time",
          {"greedy", "exact"}},
         {"recompute_style",
          std::string("segments"),
          "recompute any runs of units, each as one segment; any units, each by itself; or the last units of a stage "
          "as one segment, as in vPipe's repository",
          {"segments", "per_unit", "suffix_segment"}},
         grain_option("granularity", UnitGrain::Blocks,
                      "units that are never divided: residual blocks, layers, or operators"),
         {"start",
          std::string("balanced"),
          "first cut: the loads of stages are balanced; pipedream: the loads, and the transfers between stages",
          {"balanced", "pipedream"}},
         {"swap", true, "whether anything may be swapped; vPipe's repository swaps nothing"},
         {"resident",
          std::int64_t{0},
          "microbatches that have a swapped unit on the device; 0: the most that there may be, three or four",
          {},
          0},
         {"plan_counts_boundary_traffic", false,
          "swap only what the host link can carry besides the tensors between stages; vPipe does not count them"}},
    .plan = vpipe::plan_vpipe,
    .saves_memory = true,
    .cuts_by_memory = true,
    .variants = [](const PlanRequest& request) { return shape_variants(vpipe_planner, request); },
};

}  // namespace stagecraft
