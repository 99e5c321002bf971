#include "planners/dawnpiper/cut_waits.hpp"
#include "planners/dawnpiper/partition.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/limits.hpp"
#include "planners/shared/savings/fitted_plan.hpp"
#include "planners/shared/savings/layer_units.hpp"
#include "planners/shared/savings/saving_pipeline.hpp"
#include "planners/shared/savings/stage_devices.hpp"
#include "sim/base/counted.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/memory_ledger.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {

extern const PlannerInfo dawnpiper_planner;

namespace dawnpiper {
namespace {

/// What the stages at a cut wait for what crosses it.
std::function<Seconds(std::size_t, std::size_t)> cut_waits(const SavingPipeline& pipeline, UnitGrain cuts) {
  const LayerGraph& graph = pipeline.request().graph;
  const std::vector<LayerId> order = canonical_order(graph);
  const std::vector<Bytes> waited = waited_bytes(graph, order, pipeline.stages());
  std::vector<Bytes> at_cuts;
  for (const std::size_t position : unit_bounds(graph, order, cuts)) at_cuts.push_back(waited[position]);
  return [at_cuts = std::move(at_cuts), &pipeline](std::size_t cut, std::size_t before) {
    return at_cuts[cut] / pipeline.places()[before].bandwidth;
  };
}

PartitionProblem problem_of(const SavingPipeline& pipeline, UnitGrain cuts, bool counts_boundaries) {
  PartitionProblem problem;
  const Training& training = pipeline.request().training;
  for (const StagePlace& place : pipeline.places()) {
    const std::int64_t dividing = std::ssize(place.devices) * pipeline.request().graph.copies.plain;
    const double copies = state_copies(training, place.weight_versions, dividing);
    problem.places.push_back({place.factor, place.in_flight, copies});
  }
  for (std::size_t cut = 0; cut <= pipeline.units(); ++cut) {
    problem.compute.push_back(pipeline.compute(cut));
    problem.stash.push_back(pipeline.stash(cut));
  }
  problem.parameters = [&pipeline](std::size_t begin, std::size_t end) { return pipeline.parameters(begin, end); };
  problem.stage = [&pipeline](std::size_t stage, std::size_t begin, std::size_t end) {
    return pipeline.stage(stage, begin, end);
  };
  if (pipeline.has_coarse_segments()) {
    problem.coarse_stage = [&pipeline](std::size_t stage, std::size_t begin, std::size_t end) {
      return pipeline.coarse_stage(stage, begin, end);
    };
    problem.refined = [&pipeline](StageSaving coarse, std::size_t begin, std::size_t end) {
      return pipeline.refined(std::move(coarse), begin, end);
    };
  }
  if (counts_boundaries) problem.transfer = cut_waits(pipeline, cuts);
  return problem;
}

PartitionSettings settings_of(const Options& options) {
  return {.margin = static_cast<std::size_t>(options.count("margin")),
          .exact = options.word("leaf") == "exact",
          .max_work = options.number("max_work")};
}

template <class IsCounted>
std::int64_t count_of(const Partition& partition, const IsCounted& is_counted) {
  std::ptrdiff_t count = 0;
  for (const StageSaving& saving : partition.savings) count += std::ranges::count_if(saving.actions, is_counted);
  return count;
}

Detail::Record details_of(const SavingPipeline& pipeline, const Partition& partition, const PartitionSettings& settings,
                          const PartitionCounts& counts) {
  Detail::List times;
  Detail::List memory;
  Detail share;
  if (counts.all_cuts > 0) share = counts.interval_cuts / counts.all_cuts;
  for (const StageSaving& saving : partition.savings) {
    times.emplace_back(saving.time.value());
    memory.emplace_back(saving.memory.value());
  }
  return {{"period_s", partition.time.value() / static_cast<double>(pipeline.places().front().devices.size())},
          {"stage_times_s", std::move(times)},
          {"stage_memory_bytes", std::move(memory)},
          {"units", static_cast<std::int64_t>(pipeline.units())},
          {"recomputed", count_of(partition, is_recomputed)},
          {"swapped", count_of(partition, [](UnitAction action) { return action == UnitAction::Swap; })},
          {"margin", static_cast<std::int64_t>(settings.margin)},
          {"interval_share", std::move(share)},
          {"cuts_tried", counts.cuts_tried},
          {"leaf_calls", counts.leaf_calls},
          {"widenings", counts.widenings}};
}

std::vector<std::string> notes_of(const PartitionCounts& counts) {
  std::vector<std::string> notes;
  if (counts.ended_early) {
    notes.emplace_back("the search ended before all cuts of the intervals were tried; a larger max_work lets it go on");
  }
  if (counts.inexact_leaves > 0) {
    notes.push_back("the best actions of " + counted(counts.inexact_leaves, "stage") +
                    " were too much work to find; good ones were taken");
  }
  return notes;
}

SavingPipelineSettings pipeline_settings(const Options& options, UnitGrain cuts) {
  const std::string& segments = options.word("segments");
  SavingPipelineSettings settings{.cuts = cuts, .resident = options.count("resident"), .swaps = options.flag("swap")};
  settings.actions = segments == "best" || segments == "any" ? UnitGrain::Operators : grain_of(segments);
  if (segments == "best") settings.segments = UnitGrain::Blocks;
  if (segments == "any") settings.segments = UnitGrain::Operators;
  return settings;
}

/// The plan whose cuts lie between these units.
PlanResult plan_between(const PlanRequest& request, UnitGrain cuts, bool is_hasty) {
  PartitionSettings settings = settings_of(request.options);
  settings.is_hasty = is_hasty;
  const bool counts_boundaries = request.options.flag("boundaries");
  bool ended_early = false;
  SavingPipeline pipeline(dawnpiper_planner, request, pipeline_settings(request.options, cuts));
  const std::size_t size = pipeline.units() * pipeline.stages();
  PlanResult result = fitted_plan(std::move(pipeline), [&](const SavingPipeline& now) -> std::optional<SavedStages> {
    PartitionSearch search(problem_of(now, cuts, counts_boundaries), settings);
    std::optional<Partition> found = search.run();
    ended_early = search.counts().ended_early;
    if (!found) return std::nullopt;
    SavedStages stages{{}, {}, details_of(now, *found, settings, search.counts()), notes_of(search.counts())};
    stages.cuts = std::move(found->cuts);
    stages.savings = std::move(found->savings);
    return stages;
  });
  if (auto* none = std::get_if<Infeasible>(&result)) {
    if (ended_early) none->hint = "the search ended before all cuts were tried; a larger max_work lets it go on";
    if (size > kMostUnitsToRepeat) {
      none->search.reset();
      none->is_costly = true;
    }
  }
  return result;
}

bool has_units_for_all_stages(const PlanRequest& request, UnitGrain finer, UnitGrain coarser) {
  const std::vector<LayerId> order = canonical_order(request.graph);
  const auto units = [&](UnitGrain grain) { return unit_bounds(request.graph, order, grain).size() - 1; };
  return units(coarser) >= stage_devices(dawnpiper_planner, request, units(finer)).size();
}

/// The faster plan of two searches: one for cuts between the units that are asked for, and one for cuts between blocks.
/// Where memory is tight, cuts inside blocks that fit may lie far apart, and a search from the theorem's interval finds
/// only the nearest; or it gives up a part that fits (`PartitionSearch`). If neither has a plan, a third one, between
/// blocks, is less hasty with that. A margin of 0 is the paper's search alone.
PlanResult plan_dawnpiper(const PlanRequest& request) {
  const UnitGrain grain = grain_of(request.options.word("granularity"));
  const bool cuts_blocks = grain == UnitGrain::Blocks || has_units_for_all_stages(request, grain, UnitGrain::Blocks);
  PlanResult result = plan_between(request, grain, true);
  if (request.options.count("margin") == 0 || !cuts_blocks) return result;
  const auto take_faster = [&](PlanResult other) {
    if (claimed_time(other) < claimed_time(result)) result = std::move(other);
  };
  if (grain != UnitGrain::Blocks) take_faster(plan_between(request, UnitGrain::Blocks, true));
  if (std::holds_alternative<Infeasible>(result)) take_faster(plan_between(request, UnitGrain::Blocks, false));
  return result;
}

}  // namespace
}  // namespace dawnpiper

const PlannerInfo dawnpiper_planner{
    .name = "dawnpiper",
    .summary = "stages that swap and recompute, cut by DawnPiper's binary pipeline partitioning",
    .source = "Peng et al., DawnPiper, arXiv 2505.05856, 2025; reconstructed from its abstract",
    .default_schedule = "pipedream",
    .options =
        {stages_option("devices and units"),
         replicas_option(),
         grain_option("granularity", UnitGrain::Operators,
                      "what a stage is made of: single operators without the tiny ones, layers of the model "
                      "file, or blocks"),
         {"segments",
          std::string("best"),
          "what is recomputed together; best: in each stage single operators or runs of blocks, whichever are faster; "
          "any: runs of operators, which takes longest; or each operator, layer or block by itself",
          {"best", "any", "operators", "layers", "blocks"}},
         {"swap", true, "whether anything may be swapped"},
         {"margin", std::int64_t{1}, "cuts that are tried on either side of the theorem's interval", {}, 0, 1e6},
         {"leaf",
          std::string("greedy"),
          "the actions of a stage: by memory saved per second, or the best of all",
          {"greedy", "exact"}},
         {"boundaries", true,
          "stages wait for the tensors that cross their cuts where the schedule does not hide them"},
         {"resident",
          std::int64_t{0},
          "microbatches whose swapped stash is on the device at the same time, as the planner counts; 0: the most that "
          "there may be, three or four",
          {},
          0,
          1e6},
         {"max_work", kMostPartitionWork, "limit of the units and cuts looked at, after which the search ends", {}, 1}},
    .plan = dawnpiper::plan_dawnpiper,
    .saves_memory = true,
    .cuts_by_memory = true,
    .variants = [](const PlanRequest& request) { return shape_variants(dawnpiper_planner, request); },
};

}  // namespace stagecraft
