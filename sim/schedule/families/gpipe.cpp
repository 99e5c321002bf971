#include "sim/schedule/fixed/device_order.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/list/list_run.hpp"
#include "sim/schedule/list/pipeline_work.hpp"
#include "sim/schedule/schedule_family.hpp"

namespace stagecraft {

extern const ScheduleFamily family_gpipe;

namespace {

/// The replica's microbatches whose local numbers are in the range.
void add_range(const Replicas& replicas, ReplicaId id, ActionKind kind, Segment range, std::vector<Action>& actions) {
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    actions.push_back(action_of(kind, replicas[id].stage.value(), replicas.microbatch(id, i)));
  }
}

Schedule orders_of(const KeptPlan& kept, Segment segment) {
  const Replicas& replicas = kept.replicas;
  Schedule schedule;
  for (ReplicaId id : replicas.all()) {
    schedule.devices.push_back({replicas[id].device, Discipline::Strict, {}});
    std::vector<Action>& actions = schedule.devices.back().actions;
    const auto local = [&](std::int64_t end) { return replicas.count(id, end); };
    if (segment.begin == 0) add_range(replicas, id, ActionKind::Forward, {0, local(kept.plan.microbatches)}, actions);
    add_range(replicas, id, ActionKind::Backward, {local(segment.begin), local(segment.end)}, actions);
  }
  return schedule;
}

Compilation compile_gpipe(const PlanContext& context, const Options& /*parameters*/) {
  ScheduleProgram program;
  program.at_once = share_devices(context.replicas);
  program.reaches_in_flight = !program.at_once && !has_unequal_shares(context.plan);
  for (StageId id : indices<StageId>(context.plan.stages.size())) {
    program.in_flight.push_back(most_of(context.replicas, id, context.plan.microbatches));
  }
  // Every forward comes before any backward, so a cap below the number of microbatches cannot be kept.
  ScheduleRefusals refusals = cap_refusals(context.plan, program.in_flight, "gpipe keeps all ");
  if (!refusals.empty()) return refusals;
  program.weight_versions.assign(context.plan.stages.size(), 1);
  const auto kept = context.kept;
  if (program.at_once) {
    const auto work = std::make_shared<const PipelineWork>(pipeline_work(context, false));
    program.orders = [kept, work](Segment segment) {
      return segment.begin > 0 ? Schedule{} : order_by_phases(kept, work);
    };
  } else {
    program.orders = [kept](Segment segment) { return orders_of(*kept, segment); };
  }
  return program;
}

}  // namespace

const ScheduleFamily family_gpipe{
    .name = "gpipe",
    .summary = "all forwards, then all backwards; flushed at the end of the iteration",
    .source = "GPipe (Huang et al., NeurIPS 2019)",
    .synchronous = true,
    .parameters = {},
    .compile = compile_gpipe,
};

}  // namespace stagecraft
