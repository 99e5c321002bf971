#include "planners/pipedream/down_sets.hpp"
#include "planners/pipedream/memory_test.hpp"
#include "planners/pipedream/options.hpp"
#include "planners/pipedream/recurrence.hpp"
#include "planners/planner.hpp"
#include "planners/shared/cost_model.hpp"
#include "planners/shared/limits.hpp"
#include "planners/shared/work.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace stagecraft {

extern const PlannerInfo pipedream_planner;

namespace pipedream {
namespace {

DownSets require_states(const PlanRequest& request, const Settings& settings) {
  const auto max_states = static_cast<std::size_t>(request.options.count("max_states"));
  std::optional<DownSets> states = enumerate_down_sets(request.graph, max_states);
  if (states) return std::move(*states);
  throw InputError("the graph has more than " + std::to_string(max_states) +
                       " states (option max_states), whose tables would need more than " +
                       format_number(std::ceil(transitions(max_states, settings))) + " transitions",
                   {}, "merge the layers of parallel branches, or raise max_states and max_work");
}

void require_work(const PlanRequest& request, std::size_t states, double work) {
  require_affordable({.what = "the tables of " + std::to_string(states) + " states",
                      .steps = work,
                      .unit = "transitions",
                      .remedy = "merge the layers of parallel branches, plan for fewer devices"},
                     {.steps = request.options.number("max_work"), .option = "max_work"});
}

/// Gives each segment its devices: the next `replicas` members of its level. A level occurs several times if a segment
/// of the level above has several members; `places` are the first devices of its occurrences, and each of them gets a
/// copy of the segments. `unit` is the number of devices in a member.
void place(const DownSets& states, const std::vector<Segment>& segments, const std::vector<Level>& levels,
           std::size_t level, const std::vector<std::size_t>& places, std::vector<Stage>& stages) {
  std::size_t unit = 1;
  for (std::size_t inner = 0; inner < level; ++inner) unit *= levels[inner].count;
  std::size_t used = 0;
  for (const Segment& segment : segments) {
    std::vector<std::size_t> members;
    for (std::size_t first : places) {
      for (std::size_t i = 0; i < segment.replicas; ++i) members.push_back(first + (used + i) * unit);
    }
    used += segment.replicas;
    if (level > 0) {
      place(states, segment.inner, levels, level - 1, members, stages);
      continue;
    }
    stages.emplace_back();
    stages.back().layers = layers_between(states, segment.from, segment.to);
    for (std::size_t device : members) stages.back().replicas.emplace_back(DeviceId(device));
  }
}

Planned planned(const PlanRequest& request, const DownSets& states, const Settings& settings, const Answer& answer) {
  Planned result{empty_plan(pipedream_planner, request), {}};
  const std::size_t outermost = settings.levels.empty() ? 0 : settings.levels.size() - 1;
  place(states, answer.segments, settings.levels, outermost, {0}, result.plan.stages);
  result.plan.predicted = claimed_figures(result.plan, Seconds(answer.period), 1);
  Detail::List levels;
  for (const Level& level : settings.levels) {
    levels.emplace_back(
        Detail::Record{{"members", std::int64_t{level.count}}, {"bandwidth_bytes_per_s", level.bandwidth.value()}});
  }
  result.details = {{"claimed_period_s", answer.period},
                    {"data_parallel_s", data_parallel_time(states, settings)},
                    {"total_compute_s", states.compute[states.count - 1] * settings.time_factor},
                    {"states", static_cast<std::int64_t>(states.count)},
                    {"levels", std::move(levels)},
                    {"time_factor", settings.time_factor},
                    {"memory_bytes", smallest_capacity(request.platform).value()}};
  return result;
}

/// Whether planning again, including the enumeration of down-sets, would keep the user waiting.
bool takes_long(const DownSets& states, const Settings& settings) {
  const double enumerated = static_cast<double>(states.count) * static_cast<double>(states.order.size());
  return transitions(states.count, settings) + enumerated > kMostTransitionsToRepeat;
}

Infeasible nothing_found(const PlanRequest& request, const DownSets& states, const Settings& settings) {
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
  for (DeviceId device : indices(request.platform.devices)) {
    largest = std::max(largest, request.platform.kind(device).memory);
  }
  none.search = MemorySearch{largest * 2};
  return none;
}

/// Plans without a memory test or with that of the original program. The plan may not fit in memory; the simulation or
/// `stagecraft check` tells.
PlanResult plan_by(const PlanRequest& request, const DownSets& states, const Settings& settings) {
  const Answer answer = optimize(states, settings);
  if (answer.segments.empty()) return nothing_found(request, states, settings);
  Planned result = planned(request, states, settings, answer);
  const ScheduleProgram program = require_schedule(request.graph, request.platform, result.plan);
  result.plan.pattern = program.pattern;
  result.plan.predicted.peak_memory = ledger_peaks(request.graph, request.platform, result.plan, program);
  return result;
}

/// Plans within the memory ledger. First tries the best pipeline without a memory test; if it passes the ledger it is
/// the answer, because a test only removes choices. Otherwise tests each stage during the search, first with a lower
/// bound of its memory and then with an upper bound. A plan that is returned has passed the ledger of the whole plan.
PlanResult plan_within_ledger(const PlanRequest& request, const DownSets& states, Settings settings) {
  const Answer free = optimize(states, settings);
  if (free.segments.empty()) return nothing_found(request, states, settings);
  PlanResult first = judged(request, planned(request, states, settings, free));
  if (std::holds_alternative<Planned>(first)) return first;
  const bool is_long = takes_long(states, settings);
  for (const Consumers consumers : {Consumers::One, Consumers::Every}) {
    MemoryTest test;
    test.whole_pipeline = true;
    settings.memory = &test;
    require_work(request, states.count, transitions(states.count, settings) + ledger_test_work(request, states.count));
    test = ledger_memory_test(request, states, consumers);
    const Answer answer = optimize(states, settings);
    if (answer.segments.empty()) break;
    PlanResult result = judged(request, planned(request, states, settings, answer));
    if (std::holds_alternative<Planned>(result)) return result;
  }
  Infeasible none = std::get<Infeasible>(first);
  none.reason = "no pipeline fits; in the fastest one, " + none.reason;
  const Bytes enough = *std::exchange(none.smallest_memory, std::nullopt);
  if (is_long) {
    none.hint = "the fastest pipeline needs " + format_human_bytes(enough) + " on every device";
  } else {
    none.search = MemorySearch{enough};
  }
  return none;
}

PlanResult plan_with_test(const PlanRequest& request, const DownSets& states, Settings settings) {
  const std::string& memory = request.options.word("memory_test");
  if (memory == "ledger") return plan_within_ledger(request, states, settings);
  const MemoryTest original = original_memory_test(smallest_capacity(request.platform));
  if (memory == "original") settings.memory = &original;
  return plan_by(request, states, settings);
}

PlanResult plan_pipedream(const PlanRequest& request) {
  (void)is_asynchronous(request.schedule);  // refuses an unknown schedule
  Settings settings;
  settings.levels = levels(request.platform);
  settings.time_factor = slowest_factor(request.graph, request.platform, all_devices(request.platform));
  settings.communication = request.options.word("communication") == "on";
  settings.straight = request.options.flag("straight");
  settings.use_fewer = request.options.flag("use_fewer");
  const DownSets states = require_states(request, settings);
  require_work(request, states.count, transitions(states.count, settings));
  PlanResult result = plan_with_test(request, states, settings);
  if (auto* none = std::get_if<Infeasible>(&result)) none->is_costly = takes_long(states, settings);
  return result;
}

}  // namespace
}  // namespace pipedream

std::vector<OptionInfo> pipedream::options() {
  return {{"communication", std::string("on"), "whether transfers between stages take time", {"on", "off"}},
          {"straight", false, "put every stage on one device, without replicas"},
          {"memory_test",
           std::string("ledger"),
           "memory test of a stage: the shared ledger, the formula of the original program, or none",
           {"ledger", "original", "none"}},
          {"use_fewer", false, "devices may be left idle if that is faster"},
          {"max_states", kMostDownSets, "refuse graphs with more down-sets", {}, 1, 1e9},
          {"max_work", kMostTransitions, "refuse problems with more transitions", {}, 1}};
}

const PlannerInfo pipedream_planner{
    .name = "pipedream",
    .summary = "PipeDream's hierarchical dynamic program on the down-sets of the layer graph, with replication",
    .source = "Narayanan et al., PipeDream, SOSP 2019",
    .default_schedule = "pipedream",
    .options = pipedream::options(),
    .plan = pipedream::plan_pipedream,
};

}  // namespace stagecraft
