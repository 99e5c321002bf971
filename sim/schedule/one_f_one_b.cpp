#include "sim/schedule/one_f_one_b.hpp"

#include "sim/schedule/capped/choose_order.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/rounds.hpp"
#include "sim/schedule/shared/fastest_list.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace stagecraft {
namespace {

/// Appends a replica's part of a segment.
void add_replica(const KeptPlan& kept, ReplicaId id, std::int64_t warmup, Segment segment,
                 std::vector<Action>& actions) {
  const Replicas& replicas = kept.replicas;
  const std::int64_t count = replicas.count(id, kept.plan.microbatches);
  const std::int64_t warm = std::min(warmup, count);
  const std::int64_t begin = replicas.count(id, segment.begin);
  const std::int64_t end = replicas.count(id, segment.end);
  actions.reserve(static_cast<std::size_t>(2 * (end - begin) + warm));
  const auto add = [&](ActionKind kind, std::int64_t local) {
    Action action;
    action.kind = kind;
    action.stage = replicas[id].stage;
    action.microbatch = replicas.microbatch(id, local);
    actions.push_back(action);
  };
  if (segment.begin == 0) {
    for (std::int64_t i = 0; i < warm; ++i) add(ActionKind::Forward, i);
  }
  for (std::int64_t i = begin; i < end; ++i) {
    if (i + warm < count) add(ActionKind::Forward, i + warm);
    add(ActionKind::Backward, i);
  }
}

Schedule orders_of(const KeptPlan& kept, Segment segment, const std::vector<std::int64_t>& warmup) {
  Schedule schedule;
  for (ReplicaId id : kept.replicas.all()) {
    schedule.devices.push_back({kept.replicas[id].device, Discipline::Strict, {}});
    add_replica(kept, id, warmup[kept.replicas[id].stage.value()], segment, schedule.devices.back().actions);
  }
  return schedule;
}

/// The caps by stage, on each replica: the warm-up and one more.
std::vector<std::int64_t> caps_of(const Plan& plan, std::int64_t eagerness, std::int64_t most) {
  std::vector<std::int64_t> caps = warmups(plan, eagerness, most);
  for (std::int64_t& cap : caps) ++cap;
  return caps;
}

bool is_capped(const Plan& plan) {
  return std::ranges::any_of(plan.stages, [](const Stage& stage) { return stage.in_flight.has_value(); });
}

/// Gives the segments of a run one after the other.
class Segments {
 public:
  explicit Segments(CappedRun run) : begin_(std::move(run)), now_(begin_) {}

  Schedule operator()(Segment segment) {
    if (segment.begin < now_.taken()) now_ = begin_;
    if (segment.begin > now_.taken()) static_cast<void>(now_.take(segment.begin));
    return now_.take(segment.end);
  }

 private:
  CappedRun begin_;
  CappedRun now_;
};

constexpr std::int64_t kCappedWindow = 256;  ///< microbatches

/// Orders the work of a plan with caps from its times. **Requires** that no stages share a device.
void order_capped(const PlanContext& context, std::int64_t eagerness, ScheduleProgram& program) {
  const auto work = std::make_shared<const PipelineWork>(pipeline_work(context, !program.synchronous));
  const auto caps_up_to = [&](std::int64_t most) { return caps_of(context.plan, eagerness, most); };
  const CappedOrder order = choose_order(context.kept, work, program.synchronous, program.steady_in_flight, caps_up_to);
  for (std::size_t s = 0; s < order.caps.size(); ++s) {
    program.in_flight[s] = std::min(program.in_flight[s], order.caps[s]);
  }
  program.reaches_in_flight = order.rule == CappedRule::InTurn;
  program.least_window = kCappedWindow;
  program.orders = Segments({context.kept, work, order, program.synchronous, context.plan.microbatches});
}

}  // namespace

std::vector<std::int64_t> warmups(const Plan& plan, std::int64_t eagerness, std::int64_t most) {
  // A stage must not wait for more forwards than each earlier stage runs before its own first backward. So a cap also
  // limits all later stages, even beyond a stage with more replicas.
  struct Pipeline {
    std::int64_t upstream = -1;  // forwards that every earlier stage runs before its first backward; -1: no such stage
    std::int64_t ranks = 0;      // alternating replicas of this stage and of all later ones
  };
  std::map<std::uint32_t, Pipeline> pipelines;
  for (const Stage& stage : plan.stages) pipelines[stage.pipeline].ranks += alternating_replicas(stage);
  std::vector<std::int64_t> counts;
  for (const Stage& stage : plan.stages) {
    auto& [upstream, ranks] = pipelines[stage.pipeline];
    const std::int64_t replicas = alternating_replicas(stage);
    std::int64_t count = (ranks - 1) / replicas * eagerness;
    if (stage.in_flight) count = std::min({count, *stage.in_flight - 1, most - 1});
    if (upstream >= 0) count = std::min(count, (upstream - 1) / replicas);
    const std::int64_t given_out = (count + 1) * replicas;
    upstream = upstream < 0 ? given_out : std::min(upstream, given_out);
    ranks -= replicas;
    counts.push_back(count);
  }
  return counts;
}

ScheduleProgram one_f_one_b_program(const PlanContext& context, bool synchronous, std::int64_t eagerness) {
  ScheduleProgram program;
  program.synchronous = synchronous;
  program.at_once = context.replicas.share_devices();
  program.reaches_in_flight = !program.at_once;
  const std::vector<std::int64_t> warmup = warmups(context.plan, eagerness);
  for (StageId id : indices<StageId>(context.plan.stages.size())) {
    const std::int64_t most = warmup[id.value()] + 1;
    const std::int64_t count = context.replicas.count(context.replicas.of(id).front(), context.plan.microbatches);
    program.in_flight.push_back(std::min(most, count));
    program.steady_in_flight = std::max(program.steady_in_flight, most);
  }
  program.weight_versions.assign(context.plan.stages.size(), 1);
  const auto kept = context.kept;
  if (program.at_once && synchronous) {
    program.orders = SharedOrders(kept, pipeline_work(context, true), program.in_flight);
  } else if (program.at_once) {
    program.orders = [kept, in_flight = program.in_flight](Segment segment) {
      if (segment.begin > 0) return Schedule{};
      return order_by_rounds(*kept, in_flight, false);
    };
  } else if (is_capped(context.plan)) {
    order_capped(context, eagerness, program);
  } else {
    program.orders = [kept, warmup](Segment segment) { return orders_of(*kept, segment, warmup); };
  }
  return program;
}

}  // namespace stagecraft
