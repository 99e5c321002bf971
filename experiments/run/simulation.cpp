#include "experiments/run/simulation.hpp"

#include "experiments/run/begun_models.hpp"
#include "experiments/run/event_models.hpp"
#include "experiments/run/idle_events.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/judge.hpp"
#include "experiments/run/order_file.hpp"
#include "experiments/run/stage_numbers.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/engine/run_recorder.hpp"
#include "sim/model/noise.hpp"
#include "sim/replay/replay_plan.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

constexpr std::int64_t kReportWindow =
    256;  ///< microbatches of a window of the report, unless a re-planner has windows

Events events_of(const SimulationChoices& choices) {
  return choices.noise_seed ? with_noise_seed(choices.events, *choices.noise_seed) : choices.events;
}

/// The profile of a model of the run at a size of a microbatch.
/// **Throws** InputError for a model with other inputs than the first one.
LayerGraph profile_of(const Model& model, std::int64_t microbatch_size, const LayerGraph& first, const Plan& plan,
                      const Settings& settings) {
  const auto ignore = [](const std::string&) {};
  const Bytes input = profile_at(model, first.microbatch_size, plan.training.stash, ignore).input;
  LayerGraph graph = profile_at(model, microbatch_size, plan.training.stash, settings.say);
  if (input == first.input) return graph;
  throw InputError("model " + quote(graph.name) + " has other inputs than model " + quote(first.name) + ": " +
                   format_bytes(input) + " for a microbatch in place of " + format_bytes(first.input));
}

/// The models of the events, and the sizes of a microbatch, by the microbatch with which they begin.
std::vector<NextModel> next_models(const LayerGraph& first, const Plan& plan, const SimulationChoices& choices,
                                   const Settings& settings) {
  std::map<std::uint32_t, std::vector<Event>> changes;
  for (const Event& event : choices.listed_events) {
    if (changes_work(event)) changes[*event.at_microbatch].push_back(event);
  }
  if (!changes.empty() && choices.literal) {
    throw InputError("the orders of a schedule file, or with --sends, are for one model and one size of a microbatch");
  }
  std::vector<NextModel> models;
  std::uint32_t model = 0;
  std::int64_t size = first.microbatch_size;
  for (const auto& [microbatch, events] : changes) {
    for (const Event& event : events) {
      if (const auto* change = std::get_if<ModelChange>(&event.change)) model = change->model;
      if (const auto* change = std::get_if<SizeChange>(&event.change)) size = change->samples;
    }
    LayerGraph graph = profile_of(choices.models[model], size, first, plan, settings);
    models.push_back({microbatch, std::make_shared<const LayerGraph>(std::move(graph))});
  }
  return models;
}

/// What a run of groups of devices, or of replicas that divide the optimizer's state, cannot do yet.
void require_static_run(const LayerGraph& graph, const Training& training, const SimulationChoices& choices) {
  if (graph.degrees.devices() == 1 && training.zero == 0) return;
  const std::string with = graph.degrees.devices() > 1 ? "groups of devices" : "divided optimizer state";
  if (choices.replan)
    throw InputError("a plan with " + with + " cannot be re-planned during its run", {"", 0, 0, "--replan"});
  const auto changes = [](const Event& event) { return changes_work(event); };
  if (std::ranges::none_of(choices.listed_events, changes)) return;
  throw InputError("events that change the model or the size of a microbatch need a plan without " + with);
}

/// Runs a plan with either engine, an asynchronous one at the length that the user has chosen or until its period has
/// converged.
class PlanRunner {
 public:
  PlanRunner(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program, Simulation& simulation,
             const Settings& settings)
      : graph_(graph),
        platform_(platform),
        program_(program),
        simulation_(simulation),
        choices_(simulation.choices),
        extends_(!program_.synchronous && !choices_.run_length && choices_.events.empty() && !choices_.replan) {
    Plan plan = program.kept->plan;
    require_static_run(graph, plan.training, choices_);
    if (extends_) {
      length_ = first_length(program);
    } else {
      const bool is_given = choices_.run_length && !program.synchronous;
      length_.microbatches = is_given ? *choices_.run_length : plan.microbatches;
    }
    plan.microbatches = length_.microbatches;
    simulation_.models = next_models(graph, plan, choices_, settings);
    if (const auto problem = size_problem(graph, plan, choices_.iterations)) throw InputError(*problem);
    run_ = recompiled(graph, platform, program, plan);
  }

  /// Of the run as it was evaluated first, if it holds for a run with these events.
  [[nodiscard]] std::optional<LowerBound> bound(EngineChoice engine) const {
    if (!bound_) return std::nullopt;
    const bool shares_links = engine == EngineChoice::Replay;
    if (!bound_->needs_all()) return bound_->finish(shares_links);
    return lower_bound(graph_, platform_, run_, {lower_options(length_), shares_links});
  }

  /// Also collects the traffic, and the record of the run if it is wanted of this engine.
  Report evaluate() {
    return run(EngineChoice::Evaluate, [&](const RunLength& length) {
      refuse_long_run(least_operations(length));
      const bool is_bounded = !bound_ && bound_holds(platform_, choices_.events, program_.synchronous);
      if (is_bounded) bound_.emplace(platform_, run_);
      std::int64_t operations = 0;
      TrafficFold traffic(platform_, run_.kept->plan, choices_.iterations);
      simulation_.record = {};
      RunRecorder recorder(platform_, simulation_.record);
      const bool is_recorded = choices_.recording && choices_.engine == EngineChoice::Evaluate;
      RunWatch watch([&](const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
        refuse_long_run(static_cast<double>(++operations));
        if (is_recorded) recorder.add(span, op, deltas);
        traffic.add(span, op);
      });
      watch.window = [&](const OpGraph& window) {
        if (is_bounded) bound_->add(window);
        if (is_recorded) recorder.add(window);
      };
      Report report = evaluate_program(graph_, platform_, run_, lower_options(length), events_of(choices_), watch);
      recorder.finish();
      simulation_.traffic = traffic.finish();
      return report;
    });
  }

  /// Begins with the length at which the evaluation has converged. `operations`: of the evaluation.
  Report replay(std::uint64_t operations) {
    const auto evaluated = static_cast<double>(length_.microbatches);
    return run(EngineChoice::Replay, [&](const RunLength& length) {
      Activity activity("replaying the plan");
      const double share = static_cast<double>(length.microbatches) / evaluated;  // above 1 in a longer run
      const auto total = static_cast<std::uint64_t>(static_cast<double>(operations) * share);
      ReplayOptions options;
      options.record = choices_.recording.has_value();
      options.in_place = choices_.in_place && !extends_;  // a process can replay in place only once
      options.progress = [&](const ReplayProgress& progress) {
        activity.count(progress.operations, total, "operations");
      };
      ReplayOutcome outcome =
          replay_program(graph_, platform_, run_, lower_options(length), events_of(choices_), std::move(options));
      simulation_.record = std::move(outcome.record);
      return std::move(outcome.report);
    });
  }

 private:
  /// Each microbatch has an operation on every stage.
  [[nodiscard]] double least_operations(const RunLength& length) const {
    return static_cast<double>(length.microbatches) * static_cast<double>(program_.kept->plan.stages.size()) *
           static_cast<double>(choices_.iterations);
  }

  /// Refuses a run of so many operations if its record is wanted and may not have them.
  void refuse_long_run(double operations) const {
    const std::optional<Recording>& wish = choices_.recording;
    if (!wish || operations <= static_cast<double>(wish->most)) return;
    throw InputError(
        "takes a run of at most " + counted(wish->most, "operation") + ", and this one has more",
        {"", 0, 0, wish->option},
        (program_.synchronous ? "fewer microbatches or iterations make it shorter" : "--run-length makes it shorter") +
            wish->hint);
  }

  Report run(EngineChoice engine, const std::function<Report(const RunLength&)>& once) {
    std::optional<Seconds> least;
    const auto with_bound = [&](const RunLength& length) {
      Report report = once(length);
      if (!report.period || !report.course.replans.empty()) return report;  // the bound is that of one plan
      if (!least) {
        if (const std::optional<LowerBound> found = bound(engine)) least = found->time;
      }
      report.bound = least;
      return report;
    };
    const auto longer = [&](const RunLength& length) {
      run_ = with_length(graph_, platform_, std::move(run_), length);
      return with_bound(length);
    };
    Report report = extends_ ? run_until_converged(program_, length_, longer) : with_bound(length_);
    simulation_.length = length_;
    return report;
  }

  [[nodiscard]] LowerOptions lower_options(const RunLength& length) const {
    LowerOptions options;
    options.network = choices_.network;
    options.iterations = choices_.iterations;
    options.head = length.head;
    options.literal = choices_.literal;
    if (choices_.replan) options.replanning = replanning(platform_, *choices_.replan);
    options.models = simulation_.models;
    if (choices_.replan || !choices_.events.empty()) {
      options.report_window = choices_.replan ? choices_.replan->window : kReportWindow;
    }
    return options;
  }

  const LayerGraph& graph_;
  const Platform& platform_;
  const ScheduleProgram& program_;
  ScheduleProgram run_;  ///< the program of the plan with as many microbatches as the run
  Simulation& simulation_;
  const SimulationChoices& choices_;
  bool extends_;
  RunLength length_;
  std::optional<BoundFold> bound_;  ///< of the first evaluation
};

}  // namespace

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
