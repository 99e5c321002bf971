#include "sim/schedule/fixed/fixed_program.hpp"

#include "sim/base/counted.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/measured_part.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

/// Counts are taken of so many microbatches on stages, and of at least so many repetitions of the orders: the warm-up
/// is at most three of them, and after it every one is like the one before.
constexpr std::int64_t kCounted = 16'384;
constexpr std::int64_t kLeastRepetitions = 4;

const char* const kCutsForIt = "the planners uniform and gpipe cut the model for the schedule";

/// A family, its parameters, and the numbers of the plan that is to run.
struct FixedFamily {
  const ScheduleFamily& family;
  const Options& parameters;
  FixedPipeline pipeline;
  std::int64_t replicas = 1;  ///< of each stage

  [[nodiscard]] FixedPipeline with(std::int64_t microbatches) const {
    return {pipeline.devices, pipeline.chunks, microbatches};
  }
  /// The microbatches of a pipeline after which its orders, if they are long, repeat themselves.
  [[nodiscard]] std::int64_t repeats() const {
    return family.repeats == nullptr ? pipeline.devices : family.repeats(pipeline, parameters);
  }
  [[nodiscard]] FixedOrders orders(std::int64_t microbatches) const {
    return family.orders(with(microbatches), parameters);
  }
  /// What a pipeline of so many microbatches needs; empty if it runs.
  [[nodiscard]] std::string need(std::int64_t microbatches) const {
    return family.needs == nullptr ? "" : family.needs(with(microbatches), parameters);
  }
  /// The same of a plan whose replicas have so many together: some may have one more than others.
  [[nodiscard]] std::string need_together(std::int64_t microbatches) const {
    const std::string least = need(microbatches / replicas);
    return least.empty() ? need((microbatches + replicas - 1) / replicas) : least;
  }
};

/// Why the stage cannot be where it is; empty if it can. `pipeline`: that of the family's stage; `first`: the first
/// stage that the family has on its device.
std::string place_problem(const Plan& plan, std::size_t s, std::uint32_t pipeline, std::size_t first) {
  const Stage& stage = plan.stages[s];
  const std::size_t replicas = plan.stages.front().replicas.size();
  if (stage.pipeline != pipeline) {
    return fmt::format("has stage {} in pipeline {}, but the plan has it in pipeline {}", s, pipeline, stage.pipeline);
  }
  const bool has_shares = std::ranges::adjacent_find(stage.shares, std::ranges::not_equal_to{}) != stage.shares.end();
  if (stage.replicas.size() > 1 && (has_shares || stage.replication != Replication::RoundRobin)) {
    return fmt::format(
        "gives the replicas of a stage whole microbatches in turn, equally many, but not those of stage {}", s);
  }
  if (stage.replicas.size() != replicas) {
    return fmt::format("has equally many replicas of every stage, but stage {} has {} and stage 0 has {}", s,
                       stage.replicas.size(), replicas);
  }
  if (stage.replicas == plan.stages[first].replicas) return "";
  return fmt::format("has stage {} on the device of stage {}, but the plan has not", s, first);
}

/// By stage of the placement: the first one on the same device.
std::vector<std::size_t> firsts_of(const Placement& placement) {
  std::map<std::size_t, std::size_t> first;  // by device
  std::vector<std::size_t> firsts;
  for (std::size_t s = 0; s < placement.size(); ++s) {
    firsts.push_back(first.try_emplace(placement[s].device, s).first->second);
  }
  return firsts;
}

/// The accepted numbers of microbatches next to the plan's own.
std::string nearest_hint(const FixedFamily& fixed, const Plan& plan) {
  const std::int64_t samples = samples_of_microbatch(plan);
  std::int64_t below = plan.microbatches - 1;
  while (below >= fixed.replicas && !fixed.need_together(below).empty()) --below;
  std::int64_t above = plan.microbatches + 1;
  while (!fixed.need_together(above).empty()) ++above;
  const bool has_less = below >= fixed.replicas;
  const auto either = [&](std::int64_t unit) {
    return (has_less ? fmt::format("{} or ", below * unit) : "") + std::to_string(above * unit);
  };
  return fmt::format("choose {} microbatches, of {} samples in all", either(1), either(samples));
}

ScheduleRefusals refusals_of(const FixedFamily& fixed, const PlanContext& context) {
  const Plan& plan = context.plan;
  const std::string& name = fixed.family.name;
  const FixedPipeline& pipeline = fixed.pipeline;
  const std::string each = fmt::format("{} gives each device {}, but ", name, counted(pipeline.chunks, "stage"));
  const auto is_chosen = [](const OptionInfo& option) { return option.name == "chunks" || option.name == "waves"; };
  const auto chosen = std::ranges::find_if(fixed.family.parameters, is_chosen);
  const std::string hint =
      chosen == fixed.family.parameters.end()
          ? kCutsForIt
          : fmt::format("choose the {} with the parameter '{}'", chosen->description, chosen->name);
  if (std::ssize(plan.stages) != pipeline.devices * pipeline.chunks) {
    return {{each + "the plan has " + std::to_string(plan.stages.size()), hint}};
  }
  if (fixed.family.even_devices && pipeline.devices % 2 != 0) {
    return {
        {fmt::format("{} needs an even number of devices, but the plan has {}", name, pipeline.devices), kCutsForIt}};
  }
  if (std::ranges::adjacent_find(plan.pipeline_shares, std::ranges::not_equal_to{}) != plan.pipeline_shares.end()) {
    return {{name + " gives its pipelines microbatches in turn, equally many, but not those of the plan", ""}};
  }
  const auto devices = static_cast<std::size_t>(pipeline.devices);
  const Placement placement = fixed.family.placement(devices, fixed.parameters);
  const std::vector<std::size_t> firsts = firsts_of(placement);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::string problem = place_problem(plan, s, placement[s].pipeline, firsts[s]);
    if (!problem.empty()) return {{name + " " + problem, kCutsForIt}};
  }
  if (std::ssize(context.replicas.devices()) != pipeline.devices * fixed.replicas) {
    return {{each + "some device has more", kCutsForIt}};
  }
  if (const std::string need = fixed.need_together(plan.microbatches); !need.empty()) {
    const std::string of = fixed.replicas == 1 ? "" : fmt::format(" for each of {} replicas", fixed.replicas);
    return {{fmt::format("{} on {} needs {}{}, but the plan has {}", name, counted(pipeline.devices, "device"), need,
                         of, plan.microbatches),
             nearest_hint(fixed, plan)}};
  }
  return {};
}

/// What orders have on a stage.
struct Counted {
  std::int64_t in_flight = 0;
  bool has_whole = false;  ///< backwards
  bool has_split = false;
};

std::vector<Counted> counted_in(const FixedOrders& orders, std::size_t stages) {
  std::vector<Counted> counted(stages);
  std::vector<std::int64_t> pending(stages);
  for (const std::vector<Action>& order : orders) {
    for (const Action& action : order) {
      const std::size_t s = action.stage.value();
      Counted& own = counted[s];
      if (action.kind == ActionKind::Forward) ++pending[s];
      if (action.kind == ActionKind::Backward || action.kind == ActionKind::BackwardWeight) --pending[s];
      own.in_flight = std::max(own.in_flight, pending[s]);
      own.has_whole = own.has_whole || action.kind == ActionKind::Backward;
      own.has_split = own.has_split || action.kind == ActionKind::BackwardInput;
    }
  }
  return counted;
}

/// Long orders repeat themselves, so a part of them has the same counts. A stage that has all microbatches of the part
/// in flight has all of the whole.
std::vector<Counted> counted_in(const FixedFamily& fixed, std::int64_t microbatches) {
  const std::int64_t stages = fixed.pipeline.devices * fixed.pipeline.chunks;
  const std::int64_t group = std::max(fixed.pipeline.devices, fixed.repeats());
  std::int64_t part = std::min(microbatches, std::max(kLeastRepetitions * group, kCounted / stages));
  while (part < microbatches && part > 1 && !fixed.need(part).empty()) --part;
  std::vector<Counted> counted = counted_in(fixed.orders(part), static_cast<std::size_t>(stages));
  for (Counted& own : counted) {
    if (own.in_flight == part) own.in_flight = microbatches;
  }
  return counted;
}

FixedFamily fixed_family(const ScheduleFamily& family, const Options& parameters, const Plan& plan) {
  const std::int64_t chunks = std::ssize(family.placement(1, parameters));
  const std::int64_t replicas = std::ssize(plan.stages.front().replicas);
  const std::int64_t microbatches = (plan.microbatches + replicas - 1) / replicas;
  return {family, parameters, {std::ssize(plan.stages) / chunks, chunks, microbatches}, replicas};
}

/// What the replicas of that number run together: of one pipeline, or of one for each direction.
std::int64_t microbatches_of(const KeptPlan& kept, std::size_t lane) {
  std::int64_t sum = 0;
  std::set<std::uint32_t> counted;
  for (StageId id : indices<StageId>(kept.plan.stages.size())) {
    if (!counted.insert(kept.plan.stages[id.value()].pipeline).second) continue;
    sum += kept.replicas.count(kept.replicas.of(id)[lane], kept.plan.microbatches);
  }
  return sum;
}

Schedule schedule_of(const KeptPlan& kept, const FixedFamily& fixed) {
  const Replicas& replicas = kept.replicas;
  const auto devices = static_cast<std::size_t>(fixed.pipeline.devices);
  Schedule schedule;
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(fixed.replicas); ++lane) {
    const std::int64_t own = microbatches_of(kept, lane);
    FixedOrders orders = fixed.orders(own);
    for (std::size_t device = 0; device < devices; ++device) {
      for (Action& action : orders[device]) {
        action.microbatch = replicas.microbatch(replicas.of(action.stage)[lane], action.microbatch);
      }
      if (orders[device].empty()) continue;
      const ReplicaId first = replicas.of(orders[device].front().stage)[lane];
      schedule.devices.push_back({replicas[first].device, Discipline::Strict, std::move(orders[device])});
    }
  }
  return schedule;
}

}  // namespace

Compilation fixed_program(const ScheduleFamily& family, const PlanContext& context, const Options& parameters) {
  const Plan& plan = context.plan;
  const FixedFamily fixed = fixed_family(family, parameters, plan);
  ScheduleRefusals refusals = refusals_of(fixed, context);
  if (!refusals.empty()) return refusals;
  ScheduleProgram program;
  program.at_once = true;
  for (const Counted& stage : counted_in(fixed, fixed.pipeline.microbatches)) {
    program.in_flight.push_back(stage.in_flight);
    program.has_halves = program.has_halves || stage.has_split;
    program.alike = program.alike && !(stage.has_whole && stage.has_split);
  }
  refusals = cap_refusals(plan, program.in_flight, family.name + " keeps ");
  if (!refusals.empty()) return refusals;
  program.weight_versions.assign(plan.stages.size(), 1);
  program.repeats = std::lcm(fixed.repeats() * fixed.replicas, whole_round_of_work(*context.kept));
  program.orders = [kept = context.kept, &family, parameters](Segment segment) {
    return segment.begin > 0 ? Schedule{} : schedule_of(*kept, fixed_family(family, parameters, kept->plan));
  };
  return program;
}

}  // namespace stagecraft
