#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/pattern.hpp"
#include "sim/schedule/periodic.hpp"
#include "sim/schedule/replica_programs.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/schedule/stage_program.hpp"
#include "sim/schedule/tied_stages.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace stagecraft {

extern const ScheduleFamily family_1f1b_star;

namespace {

constexpr Seconds kLongest(1e6);  // longest time of one operation, so that sums of times fit into ticks

std::optional<std::string> stage_problem(const Plan& plan, std::size_t s) {
  const Stage& stage = plan.stages[s];
  const std::string name = "stage " + std::to_string(s);
  if (stage.replicas.size() != 1) {
    return "1f1b-star runs every stage on one device, but " + name + " has " + std::to_string(stage.replicas.size());
  }
  if (stage.pipeline != 0) return "1f1b-star runs a single pipeline, but " + name + " belongs to another one";
  if (!covers_all(stage)) {
    return "1f1b-star repeats one period for all microbatches, but " + name + " has memory actions for some of them";
  }
  if (std::ranges::any_of(stage.memory, swaps)) return "1f1b-star leaves no time for swaps, but " + name + " swaps";
  return std::nullopt;
}

/// The plan's own pattern determines the microbatches in flight, so a lower cap cannot be kept.
std::optional<std::string> cap_problem(const Plan& plan) {
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::int64_t needed = pattern_in_flight(*plan.pattern, StageId(s));
    if (!plan.stages[s].in_flight || *plan.stages[s].in_flight >= needed) continue;
    return fmt::format("the pattern keeps {} microbatches of stage {} in flight, more than its cap of {}", needed, s,
                       *plan.stages[s].in_flight);
  }
  return std::nullopt;
}

std::optional<std::string> problem_of(const PlanContext& context, const std::optional<Seconds>& period) {
  const Plan& plan = context.plan;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    if (const auto problem = stage_problem(plan, s)) return problem;
  }
  if (!plan.pattern) {
    if (!share_devices(context.replicas)) return std::nullopt;
    return "1f1b-star without a pattern needs a device of its own for every stage";
  }
  if (const auto problem = pattern_problem(plan)) return problem;
  if (period && *period != plan.pattern->period) {
    return "the schedule asks for a period of " + format_seconds(*period) + ", but the pattern has a period of " +
           format_seconds(plan.pattern->period);
  }
  return cap_problem(plan);
}

Ticks duration(Seconds time, const std::string& what) {
  if (time > kLongest) {
    throw InputError(what + " takes " + format_human_seconds(time) + ", too long for a schedule in nanoseconds");
  }
  return ticks_up(time);
}

/// The bytes that cross each cut in one direction: all tensors that are produced before it and used after it.
std::vector<Bytes> crossing(const LayerGraph& graph, const Plan& plan) {
  std::vector<LayerId> order;
  for (const Stage& stage : plan.stages) order.insert(order.end(), stage.layers.begin(), stage.layers.end());
  const std::vector<Bytes> cuts = cut_bytes(graph, order);
  std::vector<Bytes> bytes;
  std::size_t end = 0;
  for (std::size_t s = 0; s + 1 < plan.stages.size(); ++s) {
    end += plan.stages[s].layers.size();
    bytes.push_back(cuts[end - 1]);
  }
  return bytes;
}

Ticks transfer_ticks(const Platform& platform, const Plan& plan, std::size_t cut, Bytes bytes) {
  if (bytes == Bytes(0)) return 0;
  const DeviceId from = plan.stages[cut].replicas.front().lead();
  const DeviceId to = plan.stages[cut + 1].replicas.front().lead();
  SmallestBandwidth smallest;
  smallest.add_both_ways(platform, from, to);
  if (smallest.apart || !smallest.bandwidth) {
    throw InputError("1f1b-star passes tensors on from stage to stage, but " + platform.devices[from].name + " and " +
                         platform.devices[to].name + " are not connected",
                     {}, "give their nodes a nic; in an explicit platform, add a link, a route or a default_link");
  }
  return duration(bytes / *smallest.bandwidth, "the transfer after stage " + std::to_string(cut));
}

/// A stage's work on its only device, and what it keeps there.
struct StarStage {
  const StageProgram& work;
  Bytes parameters;  ///< without those that another stage on the device holds
  StaticMemory held;
};

std::vector<StarStage> stages_of(const PlanContext& context) {
  context.kept->work->require_times();
  std::vector<std::int64_t> versions;
  for (const Stage& stage : context.plan.stages) {
    versions.push_back(stage.weight_versions.value_or(kPeriodicWeightVersions));
  }
  std::vector<StarStage> stages;
  for (const StageId stage : indices<StageId>(context.plan.stages.size())) {
    const ReplicaId id = context.replicas.of(stage).front();
    const StageProgram& work = (*context.kept->work)[id].programs.first();
    const Bytes elsewhere = held_elsewhere(context.graph, context.plan, context.replicas, versions, id);
    stages.push_back({work, work.parameters - elsewhere, static_memory(context.graph, *context.kept, versions, id)});
  }
  return stages;
}

/// The resources of the chain stage, cut, …, stage. A stage's backward includes the optimizer step after it.
std::vector<ChainResource> resources_of(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                                        const std::vector<StarStage>& stages) {
  const std::vector<Bytes> bytes = crossing(graph, plan);
  std::vector<ChainResource> resources;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const DeviceId device = plan.stages[s].replicas.front().lead();
    const StageProgram& own = stages[s].work;
    const Seconds update = update_time(platform.kind(device), plan.training, {stages[s].parameters});
    const std::string name = "stage " + std::to_string(s);
    if (s > 0) {
      const Ticks transfer = transfer_ticks(platform, plan, s - 1, bytes[s - 1]);
      resources.push_back({transfer, transfer});
    }
    resources.push_back({duration(own.forward, name), duration(own.backward_total(), name) + duration(update, name)});
  }
  return resources;
}

/// Whether every stage stays within its device's memory and its cap, given the microbatches in flight of the chain.
class Fits {
 public:
  Fits(const Platform& platform, const Plan& plan, const std::vector<StarStage>& stages)
      : platform_(platform), plan_(plan), stages_(stages) {}

  bool operator()(std::span<const std::int64_t> counts) const {
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const std::int64_t count = counts[2 * s];
      const Stage& stage = plan_.stages[s];
      if (stage.in_flight && count > *stage.in_flight) return false;
      if (peak_memory(stages_[s].held, stages_[s].work, count) > platform_.capacity(stage.replicas.front().lead()))
        return false;
    }
    return true;
  }

 private:
  const Platform& platform_;
  const Plan& plan_;
  const std::vector<StarStage>& stages_;
};

/// The least period that fits. If none does, a period in which only one microbatch is in flight at a time, so that a
/// run shows how much memory is missing.
Ticks least_period(const std::vector<ChainResource>& resources, const Fits& fits) {
  if (const auto period = least_star_period(resources, fits)) return *period;
  Ticks sum = 0;
  for (const ChainResource& resource : resources) sum += resource.load();
  return std::max<Ticks>(sum, 1);
}

/// 1F1B* for the plan's cut, with the period that is asked for, or else with the least one that fits.
Pattern make_pattern(const PlanContext& context, const std::optional<Seconds>& asked, bool timed) {
  const auto& [graph, platform, plan, replicas, kept] = context;
  const std::vector<StarStage> stages = stages_of(context);
  const std::vector<ChainResource> resources = resources_of(graph, platform, plan, stages);
  const Ticks period = asked ? ticks_up(*asked) : least_period(resources, Fits(platform, plan, stages));
  const std::optional<StarTimes> times = star_times(resources, period);
  if (!times) {
    const auto largest = std::ranges::max_element(resources, {}, &ChainResource::load);
    const auto at = static_cast<std::size_t>(largest - resources.begin());
    throw InputError(fmt::format("1f1b-star cannot have a period of {}: {}stage {} takes {} for each microbatch",
                                 format_seconds(*asked), at % 2 == 0 ? "" : "the link after ", at / 2,
                                 format_seconds(to_seconds(largest->load()))));
  }
  return to_pattern(star_pattern(*times, period), timed);
}

/// The plan's own pattern, or one made for the plan if it has none. If the parameter `release` is given, it replaces
/// the own pattern's `timed`.
Pattern pattern_of(const PlanContext& context, const std::optional<Seconds>& asked, bool timed) {
  if (!context.plan.pattern) return make_pattern(context, asked, timed);
  Pattern pattern = *context.plan.pattern;
  const auto& given = context.plan.schedule.parameters;
  const bool is_given = std::ranges::find(given, "release", &std::pair<std::string, Detail>::first) != given.end();
  if (is_given) pattern.timed = timed;
  return pattern;
}

/// The orders of the devices, and of a channel for the transfers between each pair of devices.
struct Unrolling {
  const Plan& plan;
  bool exclusive = true;
  Schedule schedule = {};
  std::map<DeviceId, std::size_t> device_at = {};
  std::vector<std::pair<std::size_t, std::uint32_t>> cut_at = {};  ///< by cut: its channel, and its boundary there

  void list_resources() {
    std::map<std::pair<DeviceId, DeviceId>, std::size_t> channel_at;
    cut_at.resize(plan.stages.size());
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      const DeviceId device = plan.stages[s].replicas.front().lead();
      if (device_at.emplace(device, schedule.devices.size()).second) {
        schedule.devices.push_back({device, Discipline::Strict, {}});
      }
      if (s + 1 == plan.stages.size() || !has_cut(plan, s)) continue;
      const auto [low, high] = std::minmax({device, plan.stages[s + 1].replicas.front().lead()});
      const auto [at, is_new] = channel_at.try_emplace({low, high}, schedule.channels.size());
      if (is_new) schedule.channels.push_back({{}, Discipline::Strict, {}, exclusive});
      ChannelOrder& channel = schedule.channels[at->second];
      cut_at[s] = {at->second, static_cast<std::uint32_t>(channel.boundaries.size())};
      channel.boundaries.push_back({StageId(s), StageId(s + 1)});
    }
  }

  void add(const PatternOperation& operation, std::uint32_t microbatch, Seconds not_before) {
    if (operation.is_cut) {
      const auto [channel, boundary] = cut_at[operation.index];
      schedule.channels[channel].actions.push_back({operation.backward, 0, microbatch, not_before, boundary});
      return;
    }
    Action action;
    action.kind = operation.backward ? ActionKind::Backward : ActionKind::Forward;
    action.stage = StageId(operation.index);
    action.microbatch = microbatch;
    action.not_before = not_before;
    schedule.devices[device_at.at(plan.stages[operation.index].replicas.front().lead())].actions.push_back(action);
  }
};

/// Unrolls the pattern, period after period: in period q, an operation runs microbatch q - shift if there is one. The
/// operation with the largest shift ends a microbatch. So a segment has the periods in which that operation runs the
/// segment's microbatches, and the first segment also all earlier periods.
Schedule orders_of(const Plan& plan, const Pattern& pattern, bool exclusive, Segment segment) {
  Unrolling unrolling{plan, exclusive};
  unrolling.list_resources();
  const std::vector<PatternOperation> operations = in_start_order(pattern);
  std::int64_t last_shift = 0;
  for (const PatternOperation& operation : operations) last_shift = std::max(last_shift, operation.shift);
  const std::int64_t begin = segment.begin == 0 ? 0 : segment.begin + last_shift;
  for (std::int64_t period = begin; period < segment.end + last_shift; ++period) {
    for (const PatternOperation& operation : operations) {
      const std::int64_t microbatch = period - operation.shift;
      if (microbatch < 0 || microbatch >= plan.microbatches) continue;
      const Seconds start = pattern.period * static_cast<double>(period) + operation.start;
      unrolling.add(operation, static_cast<std::uint32_t>(microbatch), pattern.timed ? start : Seconds(0));
    }
  }
  return std::move(unrolling.schedule);
}

Compilation compile_1f1b_star(const PlanContext& context, const Options& parameters) {
  const std::optional<Seconds> asked = parse_seconds(parameters.word("period")).value;  // none for `least`
  if (const auto problem = problem_of(context, asked)) {
    const auto has_one = [](const Stage& stage) { return stage.replicas.size() == 1; };
    const bool has_replicas = !std::ranges::all_of(context.plan.stages, has_one);
    return ScheduleRefusals{{*problem, has_replicas ? "the planners contiguous and madpipe plan for it" : ""}};
  }
  const Plan& plan = context.plan;
  const Pattern pattern = pattern_of(context, asked, parameters.word("release") == "timed");
  ScheduleProgram program;
  program.synchronous = false;
  program.pattern = pattern;
  program.weight_versions.assign(plan.stages.size(), kPeriodicWeightVersions);
  for (StageId id : indices<StageId>(plan.stages.size())) {
    const std::int64_t steady = pattern_in_flight(pattern, id);
    program.in_flight.push_back(std::min(steady, plan.microbatches));
    program.steady_in_flight = std::max(program.steady_in_flight, steady);
  }
  program.repeats = whole_round(plan, context.replicas);
  const bool exclusive = parameters.word("channels") == "exclusive";
  program.orders = [kept = context.kept, pattern, exclusive](Segment segment) {
    return orders_of(kept->plan, pattern, exclusive, segment);
  };
  return program;
}

}  // namespace

const ScheduleFamily family_1f1b_star{
    .name = "1f1b-star",
    .summary = "asynchronous, the same pattern in every period: 1F1B* of a contiguous cut, or the plan's own pattern",
    .source = "1F1B* of MadPipe (Beaumont, Eyraud-Dubois, Shilova, ScaDL at IPDPS 2022)",
    .synchronous = false,
    .parameters = {{"channels",
                    std::string("exclusive"),
                    "exclusive: one transfer at a time between two devices, in the pattern's order; free: they share "
                    "the links",
                    {"exclusive", "free"}},
                   {.name = "period",
                    .default_value = std::string("least"),
                    .description =
                        "period of a plan without a pattern; least: the shortest with which every stage fits "
                        "its device's memory",
                    .choices = {"least"},
                    .longest_time = kLongest},
                   {"release",
                    std::string("timed"),
                    "timed: nothing starts before its time in the pattern; asap: only the order of the pattern is kept",
                    {"timed", "asap"}}},
    .compile = compile_1f1b_star,
};

}  // namespace stagecraft
