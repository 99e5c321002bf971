#include "experiments/run/simulation.hpp"

#include "experiments/run/begun_models.hpp"
#include "experiments/run/event_models.hpp"
#include "experiments/run/idle_events.hpp"
#include "experiments/run/order_file.hpp"
#include "experiments/run/plan_runner.hpp"
#include "experiments/run/stage_numbers.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stagecraft {

const char* to_string(EngineChoice engine) { return engine == EngineChoice::Replay ? "replay" : "evaluate"; }
const char* to_string(NetworkModel network) { return network == NetworkModel::Platform ? "platform" : "analytic"; }

void SimulationChoices::set_events(const EventsFile& file, const Model& model, const Platform& platform) {
  events = resolve_events(file.events, platform);
  EventModels loaded = load_event_models(file, platform);
  models = std::move(loaded.models);
  models.insert(models.begin(), model);
  events_hash = std::move(loaded.sha256);
  listed_events.clear();
  for (const NamedEvent& each : file.events) listed_events.push_back(each.event);
}

const DeviceReport& fullest(const Report& report) {
  return *std::ranges::max_element(report.devices, {}, [](const DeviceReport& device) {
    return static_cast<double>(device.memory.peak.value()) /
           static_cast<double>(std::max<std::int64_t>(device.memory.capacity.value(), 1));
  });
}

std::optional<Seconds> headline(const Figures& figures) {
  return figures.period ? figures.period : figures.iteration_time;
}

std::optional<double> Simulation::prediction_error(const Figures& predicted) const {
  const Figures simulated = report.figures();
  const std::optional<Seconds>& claim = simulated.period ? predicted.period : predicted.iteration_time;
  const std::optional<Seconds> found = headline(simulated);
  if (!claim || !found || *found <= Seconds(0)) return std::nullopt;
  return (*claim - *found) / *found;
}

std::optional<double> Simulation::over_bound() const {
  const std::optional<Seconds> found = headline(report.figures());
  return bound && found ? std::optional(*found / bound->time) : std::nullopt;
}

std::vector<std::size_t> Simulation::missed_events() const {
  std::vector<char> happens(choices.listed_events.size());
  for (const Strike& strike : report.course.strikes) happens[choices.events[strike.event].listed] = 1;
  std::vector<std::size_t> missed;
  for (std::size_t i = 0; i < happens.size(); ++i) {
    if (happens[i] == 0) missed.push_back(i);
  }
  return missed;
}

Simulation simulate_program(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                            const SimulationChoices& choices, const Settings& settings) {
  using Clock = std::chrono::steady_clock;
  Simulation simulation;
  simulation.choices = choices;
  if (choices.transfers) simulation.choices.literal = orders_under(*choices.transfers, graph, platform, program);
  PlanRunner runner(graph, platform, program, simulation, settings);
  simulation.updates = stage_updates(graph, program);
  Clock::time_point start = Clock::now();
  Report evaluated = runner.evaluate();
  simulation.evaluated = evaluated.figures();
  simulation.load = load_of(graph, platform, program, choices.network, simulation.traffic);
  if (choices.engine == EngineChoice::Evaluate) {
    simulation.report = std::move(evaluated);
  } else {
    start = Clock::now();
    simulation.report = runner.replay(evaluated.operations);
  }
  leave_out_unbegun(simulation.report, choices.events, choices.listed_events, simulation.models);
  const bool is_one_plan = simulation.report.course.replans.empty();
  if (!is_one_plan) simulation.load = {};
  if (is_one_plan && (!simulation.report.period || simulation.report.converged())) {
    simulation.bound = runner.bound(choices.engine);
  }
  const auto has_same_work = [&](const NextModel& next) { return next.graph->work == graph.work; };
  if (std::ranges::all_of(simulation.models, has_same_work)) {
    simulation.rates = work_rates(graph, platform, simulation.report);
  }
  simulation.cost = run_cost(platform, simulation.report, simulation.rates);
  simulation.basis = basis_of(graph, platform, program.kept->plan, simulation.report);
  simulation.wall_time = Seconds(std::chrono::duration<double>(Clock::now() - start).count());
  simulation.idle_events = idle_events(simulation.report, program.kept->plan, choices.events);
  number_stages_by_plan(simulation);
  return simulation;
}

std::optional<PlanLadder> simulated_ladder(const LayerGraph& graph, const Platform& platform,
                                           const ScheduleProgram& program, const Simulation& simulation) {
  const Report& report = simulation.report;
  const bool has_links = simulation.choices.network == NetworkModel::Platform;
  if (report.iterations.empty() || report.out_of_memory() || !has_links) return std::nullopt;
  return plan_ladder(
      graph, platform, program, report.iterations.back(), [&] { return simulation.bound; },
      simulation.choices.engine == EngineChoice::Replay);
}

std::optional<KeptRun> run_kept(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                                const Simulation& changed) {
  if (!changed.choices.replan || changed.report.course.replans.empty()) return std::nullopt;
  const Activity activity("running the plan as it is");
  SimulationChoices choices = changed.choices;
  choices.replan.reset();
  choices.recording.reset();
  if (changed.report.period) choices.run_length = changed.length.microbatches;
  try {
    const Seconds end = simulate_program(graph, platform, program, choices, Settings()).report.end;
    if (end < kForEver) return KeptRun{end, ""};
    return KeptRun{std::nullopt, "one of its devices does not come back"};
  } catch (const InputError& error) {
    return KeptRun{std::nullopt, error.what()};
  }
}

}  // namespace stagecraft
