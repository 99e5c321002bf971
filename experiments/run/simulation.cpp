#include "experiments/run/simulation.hpp"

#include "experiments/run/judge.hpp"
#include "experiments/run/progress.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/model/noise.hpp"
#include "sim/replay/replay_plan.hpp"
#include "sim/schedule/families/spp_pe/spp_pe.hpp"
#include "sim/schedule/pipeline_times.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stagecraft {
namespace {

LowerOptions lower_options(const SimulationChoices& choices) {
  LowerOptions options;
  options.network = choices.network;
  options.iterations = choices.iterations;
  options.literal = choices.literal;
  return options;
}

Events events_of(const SimulationChoices& choices) {
  return choices.noise_seed ? with_noise_seed(choices.events, *choices.noise_seed) : choices.events;
}

void replay_into(Simulation& simulation, const LayerGraph& graph, const Platform& platform, const Plan& plan,
                 const Report& evaluated, const Settings& settings) {
  ProgressLine line(settings.progress, evaluated.operations);
  ReplayOptions replay_options;
  replay_options.timeline = simulation.choices.timeline;
  replay_options.in_place = simulation.choices.in_place;
  if (settings.progress) {
    replay_options.progress = [&line](const ReplayProgress& progress) { line.show(progress.operations); };
  }
  ReplayOutcome outcome = replay_plan(graph, platform, plan, lower_options(simulation.choices),
                                      events_of(simulation.choices), std::move(replay_options));
  simulation.report = std::move(outcome.report);
  simulation.timeline = std::move(outcome.timeline);
}

/// Whether each direction across a cut has a channel of its own on the analytic network.
bool is_full_duplex(const ScheduleChoice& schedule) {
  return schedule.name == family_spp_pe.name && processing_settings(schedule).full_duplex;
}

/// The load of the busiest device or channel (`pipeline_load`, `busiest_shared_device`). There is none if the platform
/// lacks a route that the analytic network needs, if the plan has several pipelines, which share devices, or if a plan
/// with literal orders has edges that skip stages: their tensors then go straight to their receivers, not from stage to
/// stage.
std::optional<Seconds> load_of(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const bool is_literal = plan.schedule.name == "literal";
  if (is_literal && boundaries(graph, plan) != chain_boundaries(graph, plan)) return std::nullopt;
  if (std::ranges::any_of(plan.stages, [](const Stage& stage) { return stage.pipeline != 0; })) return std::nullopt;
  try {
    const PipelineTimes times = pipeline_times(graph, platform, plan);
    return std::max(pipeline_load(times, plan.microbatches, is_full_duplex(plan.schedule)),
                    busiest_shared_device(graph, platform, plan));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Evaluates the plan, and collects timeline and traffic from its spans if they are wanted.
Report evaluate_into(Simulation& simulation, const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const SimulationChoices& choices = simulation.choices;
  const bool takes_timeline = choices.timeline && choices.engine == EngineChoice::Evaluate;
  TrafficFold traffic(platform, plan, choices.iterations);
  SpanSink watch;
  if (takes_timeline || choices.traffic) {
    watch = [&](const Span& span, const Op& op, auto) {
      if (takes_timeline) simulation.timeline.push_back(timeline_entry(span, op));
      if (choices.traffic) traffic.add(span, op);
    };
  }
  Report report = evaluate_plan(graph, platform, plan, lower_options(choices), events_of(choices), watch);
  simulation.traffic = traffic.finish();
  return report;
}

}  // namespace

const char* to_string(EngineChoice engine) { return engine == EngineChoice::Replay ? "replay" : "evaluate"; }
const char* to_string(NetworkModel network) { return network == NetworkModel::Platform ? "platform" : "analytic"; }

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

std::int64_t Simulation::microbatches(const Plan& plan) const { return plan.microbatches * choices.iterations; }

std::vector<std::size_t> Simulation::missed_events(const Plan& plan) const {
  std::vector<std::size_t> missed;
  for (std::size_t i = 0; i < choices.listed_events.size(); ++i) {
    const Event& event = choices.listed_events[i];
    const bool happens = event.at_microbatch ? *event.at_microbatch < microbatches(plan) : event.at < report.end;
    if (!happens) missed.push_back(i);
  }
  return missed;
}

Simulation simulate_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                         const SimulationChoices& choices, const Settings& settings) {
  if (const auto problem = size_problem(graph, plan, choices.iterations)) throw InputError(*problem);
  using Clock = std::chrono::steady_clock;
  Simulation simulation;
  simulation.choices = choices;
  const bool evaluates = choices.engine == EngineChoice::Evaluate;
  Clock::time_point start = Clock::now();
  Report evaluated = evaluate_into(simulation, graph, platform, plan);
  simulation.evaluated = evaluated.figures();
  if (simulation.evaluated.iteration_time) simulation.load = load_of(graph, platform, plan);
  if (evaluates) {
    simulation.report = std::move(evaluated);
  } else {
    start = Clock::now();
    replay_into(simulation, graph, platform, plan, evaluated, settings);
  }
  simulation.wall_time = Seconds(std::chrono::duration<double>(Clock::now() - start).count());
  return simulation;
}

}  // namespace stagecraft
