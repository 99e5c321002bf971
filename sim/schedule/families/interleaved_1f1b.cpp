#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace stagecraft {

extern const ScheduleFamily family_interleaved_1f1b;

namespace {

/// The plan as a ring of devices: stage s is on device s mod `devices`. Each replica has a ring of its own, with the
/// microbatches of its turns.
struct Ring {
  std::int64_t devices = 0;
  std::int64_t chunks = 0;
};

/// The n-th forward of a device, or its n-th backward. Microbatches run in groups of as many as there are devices: a
/// group goes through the first chunk, then through the next, and so on; its backwards take the chunks in reverse.
Action action_at(const Ring& ring, std::int64_t device, std::int64_t n, bool backward) {
  const std::int64_t in_group = n % (ring.devices * ring.chunks);
  const std::int64_t chunk = in_group / ring.devices;
  const std::int64_t group = n / (ring.devices * ring.chunks);
  Action action;
  action.kind = backward ? ActionKind::Backward : ActionKind::Forward;
  action.stage = StageId((backward ? ring.chunks - 1 - chunk : chunk) * ring.devices + device);
  action.microbatch = static_cast<std::uint32_t>(group * ring.devices + in_group % ring.devices);
  return action;
}

/// Warm-up forwards, then forwards and backwards in turn, then the remaining backwards.
std::vector<Action> order_of(const Ring& ring, std::int64_t device, std::int64_t microbatches) {
  const std::int64_t all = ring.chunks * microbatches;
  const std::int64_t warm = std::min(all, 2 * (ring.devices - 1 - device) + (ring.chunks - 1) * ring.devices);
  std::vector<Action> actions;
  actions.reserve(static_cast<std::size_t>(2 * all));
  for (std::int64_t n = 0; n < warm; ++n) actions.push_back(action_at(ring, device, n, false));
  for (std::int64_t n = 0; n < all; ++n) {
    if (n + warm < all) actions.push_back(action_at(ring, device, n + warm, false));
    actions.push_back(action_at(ring, device, n, true));
  }
  return actions;
}

/// What is wrong with the stage, which has to be where the first stage of its devices is; empty if nothing is.
std::string place_problem(const Plan& plan, std::size_t s, std::size_t devices) {
  const Stage& stage = plan.stages[s];
  const Stage& first = plan.stages[s % devices];
  const std::string name = "stage " + std::to_string(s);
  if (stage.pipeline != 0) return "runs a single pipeline, but " + name + " belongs to another one";
  const bool has_shares = std::ranges::adjacent_find(stage.shares, std::ranges::not_equal_to{}) != stage.shares.end();
  if (stage.replicas.size() > 1 && (has_shares || stage.replication != Replication::RoundRobin)) {
    return "gives the replicas of a stage whole microbatches in turn, equally many, but not those of " + name;
  }
  if (stage.replicas == first.replicas) return "";
  if (stage.replicas.size() != first.replicas.size()) {
    return fmt::format("has equally many replicas of every stage, but {} has {} and stage {} has {}", name,
                       stage.replicas.size(), s % devices, first.replicas.size());
  }
  return fmt::format("assigns stages to devices in turn, but {} is not on the device of stage {}", name, s % devices);
}

ScheduleRefusals refusals_of(const PlanContext& context, std::int64_t chunks) {
  const Plan& plan = context.plan;
  const auto stages = static_cast<std::int64_t>(plan.stages.size());
  if (stages % chunks != 0) {
    return {{"interleaved-1f1b gives each device " + std::to_string(chunks) + " stages, but the plan has " +
                 std::to_string(stages),
             "choose the number of stages on each device with the parameter 'chunks'"}};
  }
  const std::int64_t devices = stages / chunks;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::string problem = place_problem(plan, s, static_cast<std::size_t>(devices));
    if (!problem.empty()) return {{"interleaved-1f1b " + problem, ""}};
  }
  const std::int64_t replicas = std::ssize(plan.stages.front().replicas);
  if (std::ssize(context.replicas.devices()) != devices * replicas) {
    return {{"interleaved-1f1b gives each device " + std::to_string(chunks) + " stages, but some device has more", ""}};
  }
  if (const std::int64_t round = devices * replicas; plan.microbatches % round != 0) {
    const std::int64_t below = plan.microbatches / round * round;
    const std::string of = replicas == 1 ? "" : fmt::format(" with {} replicas", replicas);
    return {
        {fmt::format("interleaved-1f1b on {}{} needs a multiple of {} microbatches, but the plan has {}",
                     counted(devices, "device"), of, round, plan.microbatches),
         fmt::format("choose {}{} with --microbatches", below > 0 ? fmt::format("{} or ", below) : "", below + round)}};
  }
  return {};
}

/// The most microbatches in flight, by stage. Four groups of microbatches are enough to find it: the warm-up is at most
/// three groups, and after it every group repeats the one before.
std::vector<std::int64_t> in_flight_of(const Ring& ring, std::int64_t microbatches) {
  const auto stages = static_cast<std::size_t>(ring.devices * ring.chunks);
  std::vector<std::int64_t> pending(stages);
  std::vector<std::int64_t> most(stages);
  for (std::int64_t device = 0; device < ring.devices; ++device) {
    for (const Action& action : order_of(ring, device, std::min(microbatches, 4 * ring.devices))) {
      const std::size_t stage = action.stage.value();
      pending[stage] += action.kind == ActionKind::Forward ? 1 : -1;
      most[stage] = std::max(most[stage], pending[stage]);
    }
  }
  return most;
}

Schedule orders_of(const KeptPlan& kept, const Ring& ring) {
  const std::int64_t replicas = std::ssize(kept.plan.stages.front().replicas);
  Schedule schedule;
  for (std::int64_t device = 0; device < ring.devices; ++device) {
    const std::vector<Action> order = order_of(ring, device, kept.plan.microbatches / replicas);
    for (const ReplicaId replica : kept.replicas.of(StageId(device))) {
      std::vector<Action> own = order;
      for (Action& action : own) action.microbatch = kept.replicas.microbatch(replica, action.microbatch);
      schedule.devices.push_back({kept.replicas[replica].device, Discipline::Strict, std::move(own)});
    }
  }
  return schedule;
}

Compilation compile_interleaved_1f1b(const PlanContext& context, const Options& parameters) {
  const std::int64_t chunks = parameters.count("chunks");
  ScheduleRefusals refusals = refusals_of(context, chunks);
  if (!refusals.empty()) return refusals;
  const Plan& plan = context.plan;
  const Ring ring{std::ssize(plan.stages) / chunks, chunks};
  ScheduleProgram program;
  program.at_once = true;
  program.in_flight = in_flight_of(ring, plan.microbatches / std::ssize(plan.stages.front().replicas));
  refusals = cap_refusals(plan, program.in_flight, "interleaved-1f1b keeps ");
  if (!refusals.empty()) return refusals;
  program.weight_versions.assign(plan.stages.size(), 1);
  program.orders = [kept = context.kept, ring](Segment segment) {
    return segment.begin > 0 ? Schedule{} : orders_of(*kept, ring);
  };
  return program;
}

/// One stage on each device in turn, as often as there are chunks.
Placement place(std::size_t devices, const Options& parameters) {
  Placement placement;
  for (std::int64_t chunk = 0; chunk < parameters.count("chunks"); ++chunk) {
    for (std::size_t device = 0; device < devices; ++device) placement.push_back({device, 0});
  }
  return placement;
}

}  // namespace

const ScheduleFamily family_interleaved_1f1b{
    .name = "interleaved-1f1b",
    .summary =
        "1f1b with several stages on each device, which shortens the bubble; flushed at the end of the iteration",
    .source = "Megatron-LM (Narayanan et al., SC 2021)",
    .synchronous = true,
    .parameters = {{.name = "chunks",
                    .default_value = std::int64_t{2},
                    .description = "number of stages on each device",
                    .least = 2,
                    .most = 1024}},
    .compile = compile_interleaved_1f1b,
    .placement = place,
};

}  // namespace stagecraft
