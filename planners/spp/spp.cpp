#include "planners/planner.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/pair_bandwidths.hpp"
#include "planners/shared/costs/require_formula.hpp"
#include "planners/shared/costs/stage_exchange.hpp"
#include "planners/shared/costs/work.hpp"
#include "planners/shared/savings/ledger_fit.hpp"
#include "planners/shared/savings/side_by_side.hpp"
#include "planners/spp/candidates.hpp"
#include "planners/spp/device_order.hpp"
#include "planners/spp/partition.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/families/spp_pe/spp_pe.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

namespace stagecraft {

extern const PlannerInfo spp_planner;

namespace spp {
namespace {

/// The planner's options that are also parameters of schedule `spp-pe`.
constexpr std::array<const char*, 3> kOfSchedule = {"duplex", "pe_exec", "inflight_cap"};

const Detail* find_parameter(const ScheduleChoice& schedule, const std::string& name) {
  const auto& given = schedule.parameters;
  const auto found = std::ranges::find(given, name, [](const auto& entry) { return entry.first; });
  return found == given.end() ? nullptr : &found->second;
}

std::string default_word(const std::string& option) {
  const auto found = std::ranges::find(spp_planner.options, option, &OptionInfo::name);
  return std::get<std::string>(found->default_value);
}

/// The request's schedule. The planner's options become parameters of `spp-pe`; any other synchronous schedule stays as
/// it is.
ScheduleChoice schedule_of(const PlanRequest& request) {
  if (is_asynchronous(request.schedule)) {
    throw InputError(
        "planner 'spp' plans flushed iterations, but schedule " + quote(request.schedule.name) + " has none", {},
        "use spp-pe or another synchronous schedule");
  }
  require_formula(spp_planner, request);
  ScheduleChoice schedule = request.schedule;
  for (const char* name : kOfSchedule) {
    const std::string& asked = request.options.word(name);
    if (asked == default_word(name)) continue;
    if (schedule.name != family_spp_pe.name) {
      if (std::string_view(name) == "duplex") continue;  // the partition depends on it with any schedule
      throw InputError("planner 'spp': " + std::string(name) + " is an option of schedule 'spp-pe', not of " +
                       quote(schedule.name));
    }
    if (const Detail* given = find_parameter(schedule, name); given != nullptr && *given != Detail(asked)) {
      const std::string other = schedule_parameters(schedule).word(name);
      throw InputError("planner 'spp': " + std::string(name) + " is " + quote(asked) + " as an option, but " +
                       quote(other) + " in the schedule");
    }
    if (find_parameter(schedule, name) == nullptr) schedule.parameters.emplace_back(name, asked);
  }
  return schedule;
}

bool is_full_duplex(const PlanRequest& request) {
  if (request.schedule.name == family_spp_pe.name) return processing_settings(request.schedule).full_duplex;
  return request.options.word("duplex") == "full";
}

/// With nominal bandwidths all-reduces are those of the analytic network, else those of the run.
UsedLinks used_links(const PlanRequest& request) {
  PairBandwidths rings = pair_bandwidths(request.platform, PairUse::Collective);
  const PairShare share = pair_share(request.options, is_full_duplex(request));
  PairBandwidths channels = channel_bandwidths(request.platform, rings, share);
  const bool is_nominal = share == PairShare::Nominal;
  return {{std::move(rings), std::move(channels)}, is_nominal ? NetworkModel::Analytic : NetworkModel::Platform};
}

std::vector<DeviceId> order_devices(const PlanRequest& request, const PairBandwidths& bandwidths) {
  if (request.options.word("device_order") == "rdo") return device_order(bandwidths);
  return all_devices(request.platform);
}

/// Refuses a request whose execution would take too long. With S stages each microbatch has 4S - 2 blocks: forward and
/// backward on S stages and S - 1 channels. All numbers of stages are executed.
void require_executable(const PlanRequest& request, const std::vector<Partition>& partitions) {
  const bool is_listed = request.schedule.name == family_spp_pe.name && !processing_settings(request.schedule).strict;
  double blocks = 0.0;
  for (const Partition& each : partitions) blocks += 4.0 * static_cast<double>(each.stages.size()) - 2.0;
  blocks *= static_cast<double>(request.microbatches);
  require_affordable({.what = "executing " + std::to_string(request.microbatches) + " microbatches",
                      .steps = blocks,
                      .unit = "forwards, backwards and transfers",
                      .remedy = "plan with fewer microbatches"},
                     {.steps = is_listed ? kMostListedBlocks : kMostBlocks});
}

/// The plan of least load for each number of stages, executed.
std::vector<Candidate> candidates(const PlanRequest& request, const std::vector<DeviceId>& devices,
                                  const UsedLinks& links) {
  PartitionProblem problem = partition_problem(request, links.bandwidths, devices);
  problem.most_replicas = request.graph.microbatch_size;
  problem.full_duplex = is_full_duplex(request);
  problem.allow_fewer = request.options.flag("allow_fewer");
  if (links.all_reduces == NetworkModel::Platform) {
    problem.all_reduces =
        stage_all_reduces(AllReduces(request.platform, expert_part(request.graph)), devices, problem.most_replicas);
  }
  const PartitionShape shape{canonical_order(request.graph), devices};
  const std::vector<Partition> partitions = best_partitions(problem);
  require_executable(request, partitions);
  std::vector<Candidate> result;
  for (const Partition& partition : partitions) {
    result.push_back(candidate(spp_planner, request, partition, shape, links));
  }
  return result;
}

Detail::List per_stage_count(const std::vector<Candidate>& all) {
  Detail::List list;
  for (const Candidate& each : all) {
    list.emplace_back(Detail::Record{{"stages", static_cast<std::int64_t>(each.plan.stages.size())},
                                     {"load_s", each.load.value()},
                                     {"time_s", each.time.value()}});
  }
  return list;
}

Planned planned(const PlanRequest& request, const std::vector<Candidate>& all, const std::vector<DeviceId>& devices,
                const Candidate& chosen) {
  Planned result{chosen.plan, {}};
  result.plan.predicted.iteration_time = chosen.time;
  Detail::List names;
  for (DeviceId device : devices) names.emplace_back(request.platform.devices[device].name);
  const auto exceeding = std::ranges::count_if(all, &Candidate::exceeds_soft_bound);
  result.details = {{"device_order", std::move(names)},
                    {"per_stage_count", per_stage_count(all)},
                    {"load_s", chosen.load.value()},
                    {"bound_s", chosen.bound ? Detail(chosen.bound->value()) : Detail()},
                    {"soft_bound_exceeded", static_cast<std::int64_t>(exceeding)}};
  if (has_caps(result.plan)) {
    result.notes.emplace_back("the plan fits because its stages have fewer microbatches in flight (in_flight)");
  }
  if (chosen.exceeds_soft_bound) {
    result.notes.emplace_back(
        "the plan takes longer than (M + 4S - 4) w, which is rare for orders without caps (details.load_s, bound_s)");
  }
  return result;
}

/// The fastest plan that fits; none if nothing fits. Candidates are tried from the fastest on. One that does not fit is
/// tried again with as many microbatches in flight as its devices can hold, and then with as few as possible. The loop
/// ends when all candidates left are slower than the best plan found.
std::optional<Planned> fastest_that_fits(const PlanRequest& request, const std::vector<Candidate>& all,
                                         const std::vector<DeviceId>& devices) {
  std::vector<std::size_t> by_time(all.size());
  std::iota(by_time.begin(), by_time.end(), std::size_t{0});
  std::ranges::stable_sort(by_time, {}, [&](std::size_t i) { return all[i].time; });
  std::optional<Planned> best;
  for (std::size_t i : by_time) {
    if (best && *best->plan.predicted.iteration_time <= all[i].time) break;
    PlanResult result = judged(request, planned(request, all, devices, all[i]));
    if (auto* fits = std::get_if<Planned>(&result)) return std::move(*fits);
    const auto take = [&](const Candidate& lowered) {
      if (best && *best->plan.predicted.iteration_time <= lowered.time) return true;
      result = judged(request, planned(request, all, devices, lowered));
      auto* fits = std::get_if<Planned>(&result);
      if (fits != nullptr) best = std::move(*fits);
      return fits != nullptr;
    };
    const std::optional<Candidate> lowered = capped(request, all[i]);
    if (!lowered || !take(*lowered)) take(lowest(request, all[i]));
  }
  return best;
}

/// The reason why nothing fits: the candidate that needs the least memory with one microbatch in flight on every stage
/// (or with as many as the schedule requires), and the memory with which it would fit.
Infeasible nothing_fits(const PlanRequest& request, const std::vector<Candidate>& all) {
  const Candidate* least = nullptr;
  Bytes least_memory;
  for (const Candidate& each : all) {
    const Bytes needed = least_memory_of(request, each);
    if (least != nullptr && needed >= least_memory) continue;
    least = &each;
    least_memory = needed;
  }
  const Plan plan = lowest(request, *least).plan;
  const PlanResult result = judged(request, {plan, {}});
  Infeasible none = std::get<Infeasible>(result);
  none.reason = "of the fastest cuts for each number of stages none fits; with " +
                counted(plan.stages.size(), "stage") + " and as few microbatches in flight as the schedule allows, " +
                none.reason;
  return none;
}

Infeasible no_way_to_use_all(const PlanRequest& request) {
  const auto layers = std::ssize(request.graph.layers);
  Infeasible none{"stages of " + counted(request.graph.layers.size(), "layer") + " cannot use all " +
                      counted(request.platform.devices.size(), "device") + ", because a microbatch has " +
                      counted(request.graph.microbatch_size, "sample") + " and a stage has no more replicas than that",
                  {},
                  {},
                  Bytes(0),
                  "larger microbatches have more replicas; allow_fewer=true leaves devices idle"};
  none.fewest_samples = (std::ssize(request.platform.devices) + layers - 1) / layers;
  return none;
}

PlanResult plan_one(const PlanRequest& asked) {
  const PlanRequest request{.graph = asked.graph,
                            .platform = asked.platform,
                            .schedule = schedule_of(asked),
                            .microbatches = asked.microbatches,
                            .training = asked.training,
                            .options = asked.options,
                            .pipelines = asked.pipelines};
  const std::size_t layers = request.graph.layers.size();
  const std::size_t device_count = request.platform.devices.size();
  const bool uses_all = !request.options.flag("allow_fewer");
  if (uses_all && layers * static_cast<std::size_t>(request.graph.microbatch_size) < device_count) {
    return no_way_to_use_all(request);
  }
  require_partition_size(layers, device_count);
  const UsedLinks links = used_links(request);
  const std::vector<DeviceId> devices = order_devices(request, links.bandwidths.channels);
  const std::vector<Candidate> all = candidates(request, devices, links);
  if (std::optional<Planned> best = fastest_that_fits(request, all, devices)) return std::move(*best);
  return nothing_fits(request, all);
}

PlanResult plan_spp(const PlanRequest& request) { return plan_side_by_side(spp_planner, request, plan_one); }

}  // namespace
}  // namespace spp

const PlannerInfo spp_planner{
    .name = "spp",
    .summary = "devices ordered by recursive minimum cuts; stages and replicas by dynamic program; SPP's schedule",
    .source = "Luo et al., SPP, INFOCOM 2022",
    .default_schedule = "spp-pe",
    .options =
        {{"duplex", std::string("half"), "whether a channel carries one direction at a time or both", {"half", "full"}},
         {"pe_exec",
          std::string("strict"),
          "strict: resources keep the order of the rounds; list: they run what is ready, in that order",
          {"strict", "list"}},
         {"inflight_cap",
          std::string("none"),
          "microbatches in flight on the n-th of S stages: no limit, S - n + 1, or 2 (S - n) + 1",
          {"none", "1f1b", "double"}},
         {"allow_fewer", false, "devices may be left idle if that is faster"},
         {"device_order",
          std::string("rdo"),
          "rdo: recursive minimum cuts; identity: the order of the platform",
          {"rdo", "identity"}},
         pair_bandwidth_option(PairShare::OneWay),
         pipelines_option()},
    .plan = spp::plan_spp,
    .variants = pipeline_variants,
};

}  // namespace stagecraft
