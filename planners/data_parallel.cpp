#include "planners/planner.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "planners/shared/costs/require_formula.hpp"
#include "planners/shared/costs/ring_time.hpp"
#include "planners/shared/costs/stage_exchange.hpp"
#include "planners/shared/costs/update_exchange.hpp"
#include "sim/base/counted.hpp"
#include "sim/model/graph_order.hpp"

#include <algorithm>

namespace stagecraft {

extern const PlannerInfo data_parallel_planner;

namespace {

PlanResult plan_data_parallel(const PlanRequest& request) {
  require_straight(data_parallel_planner, request);
  Plan plan = empty_plan(data_parallel_planner, request);
  if (!plan.training.gradient_bucket) plan.training.gradient_bucket = kUsualBucket;
  plan.stages.emplace_back();
  Stage& stage = plan.stages.back();
  stage.layers = canonical_order(request.graph);
  stage.replicas = groups_of_one(all_devices(request.platform));

  const auto replicas = static_cast<std::int64_t>(stage.replicas.size());
  const bool is_split = request.options.word("replication") == "split";
  if (is_split && request.graph.microbatch_size < replicas) {
    Infeasible none{"a microbatch of " + counted(request.graph.microbatch_size, "sample") +
                        " cannot be divided among " + counted(replicas, "device"),
                    {},
                    {},
                    Bytes(0),
                    "replication=round-robin alternates whole microbatches"};
    none.fewest_samples = replicas;
    return none;
  }
  if (is_split) stage.replication = Replication::Split;

  const StageTime time = stage_time(request.graph, request.platform, stage);
  const std::int64_t in_round = is_split ? 1 : replicas;  // microbatches
  const Bytes parameters = totals(request.graph).parameters;
  const UpdateExchange exchange = update_exchange(plan.training);
  const RingTime time_in_ring(request.platform, devices_of(stage));
  const auto ring = [&](Bytes bytes) { return time_in_ring(bytes, expert_part(request.graph)); };
  const Seconds exchanged = exchange.reduced(parameters, ring) + exchange.gathered(parameters, ring);
  const Seconds exposed = ring_beyond_backward(request.graph, request.platform, plan.training, stage) +
                          gather_beyond_forward(request.graph, request.platform, plan.training, stage);
  const Seconds update = slowest_update(request.platform, request.training, devices_of(stage), parameters);
  if (is_asynchronous(request.schedule)) {
    const Seconds round = time.backward + std::max(time.forward, exposed) + update;
    plan.predicted.period = round / static_cast<double>(in_round);
  } else if (plan.training.zero > 0) {
    plan.predicted = evaluated_claim(request, plan);
  } else {
    const std::int64_t rounds = (request.microbatches + in_round - 1) / in_round;
    plan.predicted.iteration_time = time.total() * static_cast<double>(rounds) + exposed + update;
  }
  const Detail::Record details = {{"compute_s", time.total().value()},
                                  {"all_reduce_s", exchanged.value()},
                                  {"exposed_all_reduce_s", exposed.value()},
                                  {"update_s", update.value()}};
  return judged(request, {std::move(plan), details});
}

}  // namespace

const PlannerInfo data_parallel_planner{
    .name = "data-parallel",
    .summary = "the whole model on every device; microbatches round-robin or divided; one ring all-reduce",
    .source = "common practice; ring all-reduce after Patarasuk and Yuan, 2009",
    .default_schedule = "1f1b",
    .options = {{"replication",
                 std::string("round-robin"),
                 "round-robin: whole microbatches alternate between the devices; split: each is divided among all",
                 {"round-robin", "split"}}},
    .plan = plan_data_parallel,
};

}  // namespace stagecraft
