#include "planners/pipedream/chosen_states.hpp"
#include "planners/pipedream/down_sets.hpp"
#include "planners/pipedream/fitting.hpp"
#include "planners/pipedream/memory_test.hpp"
#include "planners/pipedream/options.hpp"
#include "planners/pipedream/planned.hpp"
#include "planners/pipedream/recurrence.hpp"
#include "planners/pipedream/update_rounds.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/limits.hpp"
#include "planners/shared/costs/require_formula.hpp"
#include "planners/shared/costs/update_exchange.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

namespace stagecraft {

extern const PlannerInfo pipedream_planner;

namespace pipedream {
namespace {

/// Whether planning again, including the enumeration of down-sets, would keep the user waiting.
bool takes_long(const DownSets& states, const Settings& settings) {
  const double enumerated = static_cast<double>(states.count) * static_cast<double>(states.order.size());
  return states.width > 0 || transitions(states.count, settings) + enumerated > kMostTransitionsToRepeat;
}

Infeasible nothing_found(const Problem& problem, const DownSets& states) {
  const Settings& settings = problem.settings;
  if (settings.memory == nullptr) {
    return {"the model has too few states for a straight pipeline over all devices",
            {},
            {},
            Bytes(0),
            "use fewer devices, or set use_fewer=true"};
  }
  const Bytes limit(static_cast<std::int64_t>(settings.memory->capacity));
  Infeasible none{"no pipeline passes the original's memory test of " + format_human_bytes(limit) + " per device",
                  {},
                  {},
                  Bytes(0),
                  "memory_test=none plans without this test"};
  if (takes_long(states, settings)) return none;
  Bytes largest(1);
  for (DeviceId device : indices(problem.request.platform.devices)) {
    largest = std::max(largest, problem.request.platform.memory(device));
  }
  none.search = MemorySearch{largest * 2};
  return none;
}

/// Plans without a memory test or with that of the original program. The plan may not fit in memory; the simulation or
/// `stagecraft check` tells.
PlanResult plan_by(const Problem& problem, const DownSets& states) {
  const PlanRequest& request = problem.request;
  const Answer answer = optimize(states, problem.settings);
  if (answer.segments.empty()) return nothing_found(problem, states);
  Planned result = planned(problem, states, answer);
  const ScheduleProgram program = require_schedule(request.graph, request.platform, result.plan);
  result.plan.pattern = program.pattern;
  result.plan.predicted.peak_memory = ledger_peaks(request, program);
  return result;
}

/// Plans within the memory ledger. First tries the best pipeline without a memory test; if it passes the ledger it is
/// the answer, because a test only removes choices. Otherwise tests each stage during the search.
PlanResult plan_within_ledger(Problem& problem, DownSets& states) {
  problem.work += kTransitionTime * transitions(states.count, problem.settings);
  const Answer free = optimize(states, problem.settings);
  if (free.segments.empty()) return nothing_found(problem, states);
  PlanResult first = judged(problem.request, planned(problem, states, free));
  if (std::holds_alternative<Planned>(first)) return first;
  const bool is_long = takes_long(states, problem.settings);
  Fitting fitting = plan_that_fits(problem, states);
  problem.work += fitting.work;
  if (fitting.plan) return std::move(*fitting.plan);
  Infeasible none = std::get<Infeasible>(first);
  const std::string what =
      fitting.is_complete
          ? "no pipeline fits"
          : "no pipeline that was tried fits, and max_work does not allow all numbers of devices to be tried";
  none.reason = what + "; in the fastest one, " + none.reason;
  none.is_costly = is_long || fitting.work_on_fewer > kMostTransitionsToRepeat;
  const Bytes enough = *std::exchange(none.smallest_memory, std::nullopt);
  if (none.is_costly) {
    none.hint = "the fastest pipeline needs " + format_enough_bytes(enough) + " on every device";
  } else {
    none.search = MemorySearch{enough};
  }
  return none;
}

PlanResult plan_with_test(Problem& problem, DownSets& states) {
  const std::string& memory = problem.request.options.word("memory_test");
  if (memory == "ledger") return plan_within_ledger(problem, states);
  problem.work += kTransitionTime * transitions(states.count, problem.settings);
  const MemoryTest original = original_memory_test(smallest_capacity(problem.request.platform));
  if (memory == "original") problem.settings.memory = &original;
  PlanResult result = plan_by(problem, states);
  problem.settings.memory = nullptr;
  return result;
}

/// The plan with all layers on all devices, as one stage.
PlanResult plan_as_one_stage(const Problem& problem, const DownSets& states) {
  Segment whole{kNothing, states.count - 1, 1, {}};
  for (const Level& level : problem.settings.levels) {
    const bool is_innermost = &level == &problem.settings.levels.front();
    whole = {kNothing, states.count - 1, level.count, is_innermost ? std::vector<Segment>{} : std::vector{whole}};
  }
  const double period = period_of(states, problem.settings, {whole});
  return judged(problem.request, planned(problem, states, {period, {whole}}));
}

/// Searches for plans with updates as asked for, and ranks them.
class UpdateSearch {
 public:
  UpdateSearch(Problem& problem, DownSets& states, std::size_t tries)
      : problem_(problem), states_(states), keeps_states_(tries > 1) {}

  template <class Search>
  void add(const RoundsToTry& tried, Search search) {
    problem_.settings.rounds_per_update = static_cast<double>(tried.rounds);
    problem_.settings.most_replicas = tried.most_replicas;
    problem_.choices.rounds_per_update = tried.rounds;
    std::optional<DownSets> copy;  // since a search may leave out states
    if (keeps_states_) copy = states_;
    DownSets& own = copy ? *copy : states_;
    PlanResult result = search(problem_, own);
    std::pair rank{2, static_cast<double>(ranked_.size())};
    if (auto* none = std::get_if<Infeasible>(&result)) {
      none->is_costly = none->is_costly || takes_long(own, problem_.settings);
    } else {
      const Plan& plan = std::get<Planned>(result).plan;
      rank.first = rounds_of(problem_.request, plan, problem_.choices.weight_versions.has_value()) ? 0 : 1;
      if (rank.first == 0 && plan.predicted.period) rank.second = plan.predicted.period->value();
    }
    ranked_.emplace_back(rank, std::move(result));
  }

  /// The answer, and 0 if its updates are as asked for, 1 if not, 2 if there is no plan.
  std::pair<int, PlanResult> best() {
    auto& [rank, result] = *std::ranges::min_element(ranked_, {}, [](const auto& each) { return each.first; });
    return {rank.first, std::move(result)};
  }

 private:
  Problem& problem_;
  DownSets& states_;
  bool keeps_states_;
  std::vector<std::pair<std::pair<int, double>, PlanResult>> ranked_;
};

/// Plans as published, and with each number of rounds between updates that may give the samples asked for. A search
/// with at most t replicas may answer with fewer, whose updates do not have them, so the plan of one stage is tried
/// too. Of the plans whose updates have them the one with the least claim is the answer. If there is none, it is the
/// first one, whose updates are refused later; if no plan fits, the reason is that of the first search.
PlanResult plan_updates(Problem& problem, DownSets& states) {
  const std::vector<RoundsToTry> tries = rounds_to_try(problem.request);
  UpdateSearch search(problem, states, tries.size());
  for (const RoundsToTry& tried : tries) search.add(tried, plan_with_test);
  const bool may_be_one_stage =
      tries.size() > 1 && tries.back().most_replicas == problem.request.platform.devices.size();
  if (may_be_one_stage && !problem.settings.straight) search.add(tries.back(), plan_as_one_stage);
  auto [rank, best] = search.best();
  if (rank == 1 && problem.choices.weight_versions) {
    require_two_versions(problem.request, std::get<Planned>(best).plan);
  }
  return std::move(best);
}

/// All devices as one level, at the bandwidth of the slowest one.
std::vector<Level> flattened(const std::vector<Level>& levels) {
  if (levels.empty()) return {};
  Level all = levels.front();
  for (const Level& level : std::span(levels).subspan(1)) {
    all.count *= level.count;
    all.bandwidth = std::min(all.bandwidth, level.bandwidth);
    if (level.boundary) all.boundary = std::min(all.boundary_bandwidth(), *level.boundary);
  }
  return {all};
}

Settings settings_of(const PlanRequest& request) {
  Settings settings;
  settings.levels = levels(request.platform);
  if (request.options.word("levels") == "flat") settings.levels = flattened(settings.levels);
  if (request.options.word("synchronisation") == "overlapped") settings.synchronisation = Synchronisation::Overlapped;
  if (request.options.word("boundary") == "whole") settings.boundary = BoundaryCost::Whole;
  settings.time_factor = slowest_factor(request.graph, request.platform, all_devices(request.platform));
  settings.overhead = 2.0 * largest_pass_overhead(request.platform, all_devices(request.platform)).value();
  settings.exchanged_copies = update_exchange(request.training).copies();
  settings.communication = request.options.word("communication") == "on";
  settings.straight = request.options.flag("straight");
  settings.use_fewer = request.options.flag("use_fewer");
  return settings;
}

MemoryChoices choices_of(const PlanRequest& request) {
  MemoryChoices choices;
  choices.recompute = request.options.word("recompute") == "stage";
  if (request.options.word("weight_versions") == "2") choices.weight_versions = 2;
  if (request.options.count("in_flight") > 0) choices.in_flight = request.options.count("in_flight");
  return choices;
}

}  // namespace

PlanResult plan_pipedream(const PlanRequest& request, bool powers_of_two) {
  Settings settings = settings_of(request);
  settings.powers_of_two = powers_of_two;
  Problem problem{request, request.graph, choices_of(request), settings, settings.levels};
  if (problem.choices.recompute) {
    for (Layer& layer : problem.graph.layers) layer.backward += layer.forward;
  }
  problem.settings.solves = static_cast<double>(rounds_to_try(request).size());
  DownSets states = choose_states(request, problem.graph, problem.settings);
  PlanResult result = plan_updates(problem, states);
  std::visit([&](auto& answer) { answer.work = problem.work; }, result);
  return result;
}

}  // namespace pipedream

std::vector<OptionInfo> pipedream::options() {
  return {{"levels",
           std::string("hierarchical"),
           "plan inside a node first and then over nodes, or for all devices at the smallest bandwidth",
           {"hierarchical", "flat"}},
          {"synchronisation",
           std::string("added"),
           "add the synchronisation of replicas to their computation, or let the longer of the two count",
           {"added", "overlapped"}},
          {"boundary",
           std::string("divided"),
           "divide the bytes of a boundary by the replicas after it, or charge all of them",
           {"divided", "whole"}},
          {"communication", std::string("on"), "whether transfers between stages take time", {"on", "off"}},
          {"straight", false, "put every stage on one device, without replicas"},
          {"memory_test",
           std::string("ledger"),
           "memory test of a stage: the shared ledger, the formula of the original program, or none",
           {"ledger", "original", "none"}},
          {"use_fewer", false, "devices may be left idle if that is faster"},
          {"recompute",
           std::string("none"),
           "what the backward recomputes: nothing, or the whole stage",
           {"none", "stage"}},
          {"weight_versions",
           std::string("all"),
           "weight versions of a stage: all that the schedule implies, or at most two, as in PipeDream-2BW",
           {"all", "2"}},
          {"in_flight", std::int64_t{0}, "most microbatches in flight on a replica; 0: as the schedule says", {}, 0},
          {"compress", true, "plan on part of the down-sets where all of them exceed max_states or max_work"},
          {"max_states", kMostDownSets, "most down-sets", {}, 1, 1e9},
          {"max_work", kMostTransitions, "most transitions", {}, 1}};
}

const PlannerInfo pipedream_planner{
    .name = "pipedream",
    .summary = "PipeDream's hierarchical dynamic program on the down-sets of the layer graph, with replication",
    .source = "Narayanan et al., PipeDream, SOSP 2019",
    .default_schedule = "pipedream",
    .options = pipedream::options(),
    .plan =
        [](const PlanRequest& request) {
          require_straight(pipedream_planner, request);
          return pipedream::plan_pipedream(request, false);
        },
    .cuts_by_memory = true,
    .levels_devices = true,
};

}  // namespace stagecraft
