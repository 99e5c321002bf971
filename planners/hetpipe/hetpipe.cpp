#include "planners/hetpipe/allocation.hpp"
#include "planners/hetpipe/worker_cut.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/chain.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "planners/shared/costs/exchange_times.hpp"
#include "planners/shared/costs/require_formula.hpp"
#include "planners/shared/costs/work.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/model/run_sums.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/stage_program.hpp"

#include <algorithm>

namespace stagecraft {

extern const PlannerInfo hetpipe_planner;

namespace hetpipe {
namespace {

/// The smallest bandwidth between the devices of two consecutive stages, over all virtual workers.
BytesPerSecond link_bandwidth(const Platform& platform, const std::vector<Worker>& workers, std::size_t s) {
  SmallestBandwidth slowest;
  for (const Worker& worker : workers) slowest.add(platform, worker[s], worker[s + 1]);
  if (!slowest.apart) return slowest.bandwidth.value();
  throw InputError("planner 'hetpipe': devices " + quote(platform.devices[slowest.apart->first].name) + " and " +
                       quote(platform.devices[slowest.apart->second].name) +
                       " are neighbours in a virtual worker, but not connected",
                   {}, "add a link or a route for this pair, or choose another allocation or worker_size");
}

std::vector<DeviceId> members(const std::vector<Worker>& workers, std::size_t s) {
  std::vector<DeviceId> devices;
  for (const Worker& worker : workers) devices.push_back(worker[s]);
  return devices;
}

/// All workers use the same cut, so each position counts with the slowest device and link of any worker.
WorkerCosts costs_of(const PlanRequest& request, const std::vector<LayerId>& order, const std::vector<Worker>& workers,
                     std::size_t stages) {
  WorkerCosts costs;
  costs.prefix = {0.0};
  for (LayerId id : order) {
    const Layer& layer = request.graph.layers[id];
    costs.prefix.push_back(costs.prefix.back() + (layer.forward + layer.backward).value());
  }
  const std::vector<Bytes> at_cuts = cut_bytes_with_ends(request.graph, order);
  for (std::size_t s = 0; s < stages; ++s) {
    costs.factors.push_back(slowest_factor(request.graph, request.platform, members(workers, s)));
    costs.overheads.push_back(2.0 * largest_pass_overhead(request.platform, members(workers, s)).value());
    if (s + 1 == stages) break;
    const BytesPerSecond bandwidth = link_bandwidth(request.platform, workers, s);
    costs.transfers.emplace_back();
    for (Bytes bytes : at_cuts) costs.transfers.back().push_back((bytes / bandwidth).value());
  }
  return costs;
}

std::vector<Stage> stages_of(const std::vector<LayerId>& order, const std::vector<Worker>& workers,
                             const WorkerCut& cut) {
  std::vector<Stage> stages(cut.first.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const std::size_t end = s + 1 < stages.size() ? cut.first[s + 1] : order.size();
    stages[s].layers = layers_in(order, cut.first[s], end);
    stages[s].replicas = groups_of_one(members(workers, s));
  }
  return stages;
}

/// The longest time of all-reduce and optimizer's step of a stage.
Seconds synchronisation(const PlanRequest& request, const Plan& plan) {
  Seconds longest{0};
  const std::vector<ExchangeTimes> exchanges = exchange_times(request.graph, request.platform, plan);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    const Bytes parameters = parameters_of(request.graph, stage.layers);
    const Seconds update = slowest_update(request.platform, request.training, devices_of(stage), parameters);
    longest = std::max(longest, exchanges[s].longest() + update);
  }
  return longest;
}

Detail::List names_of(const Platform& platform, const std::vector<Worker>& workers, std::size_t stages) {
  Detail::List lists;
  for (const Worker& worker : workers) {
    Detail::List names;
    for (std::size_t s = 0; s < stages; ++s) names.emplace_back(platform.devices[worker[s]].name);
    lists.emplace_back(std::move(names));
  }
  return lists;
}

void require_table(std::size_t layers, std::size_t stages) {
  require_affordable(
      {.what = "the table of " + std::to_string(layers) + " layers in " + std::to_string(stages) + " stages",
       .bytes = (sizeof(double) + sizeof(std::size_t)) * static_cast<double>(layers + 1) * static_cast<double>(stages),
       .remedy = "form smaller workers (option worker_size), or use a model with blocks in place of layers"});
}

/// The sizes of workers that there may be.
Variants variants(const PlanRequest& request) {
  Variants variants;
  if (request.options.count("worker_size") > 0 || request.options.word("size_by") != "time") return variants;
  const Allocation allocation = allocation_of(request.options.word("allocation"));
  for (const std::int64_t size : worker_sizes(request.graph, request.platform, allocation)) {
    variants.tried.push_back(request.options.with("worker_size", size));
  }
  return variants;
}

PlanResult plan_hetpipe(const PlanRequest& request) {
  require_straight(hetpipe_planner, request);
  const std::string& allocation = request.options.word("allocation");
  const auto size = static_cast<std::size_t>(request.options.count("worker_size"));
  const std::vector<Worker> workers = virtual_workers(request.graph, request.platform, allocation_of(allocation), size);
  const std::vector<LayerId> order = canonical_order(request.graph);
  const std::size_t stages = std::min(workers[0].size(), order.size());
  require_table(order.size(), stages);
  const WorkerCut cut = cut_worker(costs_of(request, order, workers, stages));

  Plan plan = empty_plan(hetpipe_planner, request);
  plan.stages = stages_of(order, workers, cut);
  const auto count = static_cast<std::int64_t>(workers.size());
  plan.predicted = claimed_figures(plan, {Seconds(cut.stage_time), Seconds(cut.stage_time)}, count);
  const Seconds synchronise = synchronisation(request, plan);
  if (plan.predicted.iteration_time) *plan.predicted.iteration_time += synchronise;
  if (is_claim_evaluated(plan)) plan.predicted = evaluated_claim(request, plan);
  const Detail::Record details = {{"workers", count},
                                  {"worker_size", static_cast<std::int64_t>(workers[0].size())},
                                  {"stage_time_s", cut.stage_time},
                                  {"synchronisation_s", synchronise.value()},
                                  {"virtual_workers", names_of(request.platform, workers, stages)}};
  return judged(request, {std::move(plan), details});
}

}  // namespace
}  // namespace hetpipe

const PlannerInfo hetpipe_planner{
    .name = "hetpipe",
    .summary =
        "virtual workers of several devices that each run a pipeline, with data parallelism between them; flushed",
    .source = "Park et al., HetPipe, USENIX ATC 2020, with a flush instead of wave synchronisation",
    .default_schedule = "1f1b",
    .options = {{"allocation",
                 std::string("node"),
                 "how workers are formed: from one node, equally from all nodes, or from a fast and a slow node",
                 {"node", "equal", "hybrid"}},
                {"worker_size", std::int64_t{0}, "devices of a worker; 0: chosen as size_by says", {}, 0},
                {"size_by",
                 std::string("time"),
                 "of worker_size 0; time: the size with which an iteration takes least; allocation: its usual size",
                 {"time", "allocation"}}},
    .plan = hetpipe::plan_hetpipe,
    .variants = hetpipe::variants,
};

}  // namespace stagecraft
