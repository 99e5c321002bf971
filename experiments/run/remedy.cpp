#include "experiments/run/remedy.hpp"

#include "experiments/run/judge.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/error.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/convergence.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostTriedComputations = 1'000'000;

/// The program of a plan that can be run and fits in memory.
std::optional<ScheduleProgram> fitting(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  std::optional<ScheduleProgram> program = judge_plan(graph, platform, {plan, {}}).program;
  if (!program) return std::nullopt;
  const bool fits = memory_needed(platform, ledger_peaks(graph, platform, *program)) == Bytes(0);
  return fits ? std::move(program) : std::nullopt;
}

LayerGraph silent_profile(const Inputs& inputs, const Plan& plan) {
  return profile_at(inputs.model, plan.microbatch_size, plan.training.stash, [](const std::string&) {}, plan.degrees);
}

bool fits_at(const Inputs& inputs, Plan plan, std::int64_t microbatch_size) {
  plan.microbatch_size = microbatch_size;
  try {
    return fitting(silent_profile(inputs, plan), inputs.platform, plan).has_value();
  } catch (const InputError&) {
    return false;
  }
}

/// The fewest samples of a microbatch that all stages can divide.
std::int64_t fewest_samples(const Plan& plan) {
  std::int64_t fewest = 1;
  for (const Stage& stage : plan.stages) fewest = std::max(fewest, least_samples(stage));
  return fewest;
}

/// The plan of the program, without the prediction, which no change to it keeps true.
Plan without_prediction(const ScheduleProgram& program) {
  Plan plan = program.kept->plan;
  plan.predicted = {};
  return plan;
}

/// The stages that have a replica on a device that ran out of memory.
std::vector<StageId> lacking_stages(const Platform& platform, const Plan& plan, const Report& report) {
  std::vector<StageId> stages;
  for (StageId id : indices<StageId>(plan.stages.size())) {
    const bool lacks = std::ranges::any_of(report.overflows, [&](const MemoryOverflow& overflow) {
      return platform.is_device(overflow.place) && runs_on(plan.stages[id.value()], platform.device(overflow.place));
    });
    if (lacks) stages.push_back(id);
  }
  return stages;
}

bool lacks_host(const Platform& platform, const Report& report) {
  return std::ranges::any_of(report.overflows,
                             [&](const MemoryOverflow& overflow) { return !platform.is_device(overflow.place); });
}

/// The memory with which no device would have run out: the highest peak of those that did, plus the memory that is
/// reserved there.
std::optional<Bytes> enough_memory(const Platform& platform, const Report& report) {
  Bytes most{0};
  for (const DeviceReport& device : report.devices) {
    if (device.memory.peak <= device.memory.capacity) continue;
    most = std::max(most, device.memory.peak + platform.kind(device.device).reserved);
  }
  return most > Bytes(0) ? std::optional(most) : std::nullopt;
}

struct Capped {
  std::vector<std::pair<StageId, std::int64_t>> caps;
  std::optional<ScheduleProgram> program;  ///< of the plan with the caps; none if no caps make it fit
};

constexpr std::int64_t kMostOrdered = 1 << 18;  ///< microbatches on stages, in all orders that are made together

/// For each stage that lacks memory, the largest cap on microbatches in flight with which its devices fit. The stages
/// are capped one after the other, each with the caps of the previous ones in place. Empty if no cap makes some stage
/// fit, or if the whole plan does not fit with all caps; and where orders that come at once are too long to make them
/// some times for each stage.
Capped caps_that_fit(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& before,
                     const std::vector<StageId>& stages) {
  Plan plan = without_prediction(before);
  if (plan.schedule.name == "literal") return {};  // its orders are given and follow no cap
  const std::int64_t computations = plan.microbatches * std::ssize(plan.stages);
  if (before.at_once && computations > kMostOrdered / std::ssize(stages)) return {};
  Capped capped;
  for (StageId id : stages) {
    Stage& stage = plan.stages[id.value()];
    const auto cap = largest_between(1, before.in_flight[id.value()], [&](std::int64_t value) {
      stage.in_flight = value;
      const Compilation compiled = compile_schedule(graph, platform, plan);
      const auto* program = std::get_if<ScheduleProgram>(&compiled);
      if (program == nullptr) return false;
      const auto peaks = ledger_peaks(graph, platform, *program);
      return std::ranges::all_of(devices_of(stage), [&](DeviceId device) {
        const auto peak = std::ranges::find(peaks, device, &std::pair<DeviceId, Bytes>::first);
        return peak->second <= platform.capacity(device);
      });
    });
    if (!cap) return {};
    stage.in_flight = cap;
    capped.caps.emplace_back(id, *cap);
  }
  capped.program = fitting(graph, platform, plan);
  return capped.program ? std::move(capped) : Capped();
}

/// The plan whose given stages recompute all their layers: each layer as a segment of its own if `by_layer`, otherwise
/// each stage as one segment.
Plan recomputed(Plan plan, const std::vector<StageId>& stages, bool by_layer) {
  for (StageId id : stages) {
    Stage& stage = plan.stages[id.value()];
    stage.memory.clear();
    if (!by_layer) stage.memory.emplace_back(Recompute{stage.layers});
    for (LayerId layer : stage.layers) {
      if (by_layer) stage.memory.emplace_back(Recompute{{layer}});
    }
  }
  return plan;
}

/// The plan whose given stages swap the stash of each layer to the host, and recompute nothing.
Plan swapped(const LayerGraph& graph, Plan plan, const std::vector<StageId>& stages) {
  for (StageId id : stages) {
    Stage& stage = plan.stages[id.value()];
    stage.memory.clear();
    for (LayerId layer : stage.layers) {
      if (graph.layers[layer].stash > Bytes(0)) stage.memory.emplace_back(Swap{{layer}});
    }
  }
  return plan;
}

/// Evaluates plans with changes, as long as they are not too large.
class Trial {
 public:
  Trial(const Platform& platform, const Plan& plan, LowerOptions options, const std::optional<std::int64_t>& run_length)
      : platform_(platform),
        options_(std::move(options)),
        run_length_(run_length),
        is_short_(2 * plan.microbatches * std::ssize(plan.stages) <= kMostTriedComputations) {
    options_.iterations = 1;
  }

  void add(Change change, const LayerGraph& graph, const ScheduleProgram& program) {
    TriedChange& tried = tried_.emplace_back();
    tried.change = change;
    if (is_short_) tried.throughput = evaluated(graph, program).throughput;
    if (change != Change::Memory) tried.plan = program.kept->plan;
  }

  /// Adds the change if hosts hold what it swaps, which only the run tells. Returns whether they do.
  bool add_swaps(const LayerGraph& graph, const ScheduleProgram& program) {
    if (!is_short_) return false;
    const Report report = evaluated(graph, program);
    if (!report.out_of_memory()) tried_.push_back({Change::Swap, report.throughput, program.kept->plan});
    return !report.out_of_memory();
  }

  /// The fastest first.
  [[nodiscard]] std::vector<TriedChange> take() {
    std::ranges::stable_sort(tried_, std::greater<>(), &TriedChange::throughput);
    return std::move(tried_);
  }

 private:
  [[nodiscard]] Report evaluated(const LayerGraph& graph, const ScheduleProgram& program) const {
    if (!run_length_ || program.synchronous) return evaluate_until_converged(graph, platform_, program, options_);
    return evaluate_program(graph, platform_, with_length(graph, platform_, program, {*run_length_}), options_);
  }

  const Platform& platform_;
  LowerOptions options_;
  std::optional<std::int64_t> run_length_;
  bool is_short_;
  std::vector<TriedChange> tried_;
};

}  // namespace

std::optional<std::int64_t> largest_between(std::int64_t begin, std::int64_t end,
                                            const std::function<bool(std::int64_t)>& holds) {
  if (end <= begin || !holds(begin)) return std::nullopt;
  std::int64_t least = begin;
  while (end - least > 1) {
    const std::int64_t middle = least + (end - least) / 2;
    (holds(middle) ? least : end) = middle;
  }
  return least;
}

Remedies find_remedies(const Inputs& inputs, const LayerGraph& graph, const ScheduleProgram& program,
                       const Report& report, const LowerOptions& options,
                       const std::optional<std::int64_t>& run_length) {
  const Activity activity("looking for what would make the plan fit");
  Remedies remedies;
  const Platform& platform = inputs.platform;
  const Plan plan = without_prediction(program);
  const std::vector<StageId> stages = lacking_stages(platform, plan, report);
  if (stages.empty() || lacks_host(platform, report)) return remedies;
  Trial trial(platform, plan, options, run_length);
  remedies.memory = enough_memory(platform, report);
  if (remedies.memory) trial.add(Change::Memory, graph, program);
  remedies.microbatch_size = largest_between(fewest_samples(plan), plan.microbatch_size,
                                             [&](std::int64_t size) { return fits_at(inputs, plan, size); });
  if (remedies.microbatch_size) {
    Plan smaller = plan;
    smaller.microbatch_size = *remedies.microbatch_size;
    const LayerGraph profile = silent_profile(inputs, smaller);
    trial.add(Change::MicrobatchSize, profile, require_schedule(profile, platform, smaller));
  }
  Capped capped = caps_that_fit(graph, platform, program, stages);
  if (capped.program) trial.add(Change::InFlight, graph, *capped.program);
  remedies.in_flight = std::move(capped.caps);
  const auto try_recomputing = [&](Change change) {
    const auto fits = fitting(graph, platform, recomputed(plan, stages, change == Change::RecomputeLayers));
    if (fits) trial.add(change, graph, *fits);
    return fits.has_value();
  };
  remedies.recompute_layers = try_recomputing(Change::RecomputeLayers);
  remedies.recompute_stages = try_recomputing(Change::RecomputeStages);
  if (const auto fits = fitting(graph, platform, swapped(graph, plan, stages))) {
    remedies.swap = trial.add_swaps(graph, *fits);
  }
  remedies.tried = trial.take();
  return remedies;
}

}  // namespace stagecraft
