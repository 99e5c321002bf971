#include "experiments/run/plan_runner.hpp"

#include "experiments/run/begun_models.hpp"
#include "experiments/run/event_models.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/judge.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/engine/extended_report.hpp"
#include "sim/model/noise.hpp"
#include "sim/replay/replay_plan.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// Microbatches of a window of the report, unless a re-planner has windows.
constexpr std::int64_t kReportWindow = 256;

/// Microbatches on stages, together, beyond those of a short run at which the bound of a long one is taken.
constexpr std::int64_t kBoundAt = 32'768;

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

}  // namespace

PlanRunner::PlanRunner(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                       Simulation& simulation, const Settings& settings)
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

std::optional<LowerBound> PlanRunner::bound_of(const ScheduleProgram& program, const RunLength& length,
                                               bool shares_links) const {
  return lower_bound(graph_, platform_, program, {lower_options(length), shares_links});
}

/// The bound of iterations grows at least as much from one length to the next as from the one before, since it is the
/// largest of several that grow evenly: the further out it is taken, the closer it comes. That of a period is the same
/// for all lengths.
std::optional<LowerBound> PlanRunner::bound(EngineChoice engine) const {
  const bool shares_links = engine == EngineChoice::Replay;
  if (!bound_ && evaluated_) {
    const Repetition& repetition = evaluated_->repetition;
    const auto at = [&](std::int64_t microbatches) {
      const RunLength length{microbatches, 0};
      return bound_of(with_length(graph_, platform_, run_, length), length, shares_links);
    };
    const std::int64_t further =
        std::min(repetition.count - 1, kBoundAt / (repetition.microbatches() * std::ssize(run_.kept->plan.stages)));
    std::optional<LowerBound> bound = at(repetition.longer + further * repetition.microbatches());
    const std::optional<LowerBound> shorter = at(repetition.shorter + further * repetition.microbatches());
    if (!bound || !shorter || !program_.synchronous) return bound;
    bound->time = shorter->time + (bound->time - shorter->time) * static_cast<double>(repetition.count - further);
    return bound;
  }
  if (!bound_) return std::nullopt;
  if (!bound_->needs_all()) return bound_->finish(shares_links);
  return bound_of(run_, length_, shares_links);
}

Report PlanRunner::evaluate() {
  return run(EngineChoice::Evaluate, [&](const ScheduleProgram& program, const RunLength& length, RecordPart record) {
    return evaluate_once(program, length, record);
  });
}

RunOutcome PlanRunner::evaluate_once(const ScheduleProgram& program, const RunLength& length, RecordPart record) {
  refuse_long_run(least_operations(length));
  const bool is_first = length == length_ && !bound_;
  if (is_first && bound_holds(platform_, choices_.events, program.synchronous)) bound_.emplace(platform_, program);
  const bool is_bounded = is_first && bound_;
  std::int64_t operations = 0;
  TrafficFold traffic(platform_, program.kept->plan, choices_.iterations);
  RunOutcome outcome;
  outcome.record.timeline.reserve(expected_spans(length, record));
  RunRecorder recorder(platform_, outcome.record, record);
  RunWatch watch([&](const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
    refuse_long_run(static_cast<double>(++operations));
    recorder.add(span, op, deltas);
    traffic.add(span, op);
  });
  watch.window = [&](const OpGraph& window) {
    if (is_bounded) bound_->add(window);
    recorder.add(window);
  };
  outcome.report = evaluate_program(graph_, platform_, program, lower_options(length), events_of(choices_), watch);
  recorder.finish();
  outcome.traffic = traffic.finish();
  return outcome;
}

Report PlanRunner::replay(std::uint64_t operations) {
  const double each = static_cast<double>(operations) / static_cast<double>(length_.microbatches);
  return run(EngineChoice::Replay, [&](const ScheduleProgram& program, const RunLength& length, RecordPart record) {
    return replay_once(program, length, record, each);
  });
}

RunOutcome PlanRunner::replay_once(const ScheduleProgram& program, const RunLength& length, RecordPart record,
                                   double operations_of_a_microbatch) {
  Activity activity("replaying the plan");
  const auto total = static_cast<std::uint64_t>(operations_of_a_microbatch * static_cast<double>(length.microbatches));
  ReplayOptions options;
  options.record = record;
  options.spans = expected_spans(length, record);
  options.in_place = choices_.in_place && !extends_ && length == length_;  // a process can replay in place only once
  options.progress = [&](const ReplayProgress& progress) { activity.count(progress.operations, total, "operations"); };
  ReplayOutcome outcome =
      replay_program(graph_, platform_, program, lower_options(length), events_of(choices_), std::move(options));
  return {std::move(outcome.report), {}, std::move(outcome.record)};
}

/// Each microbatch has an operation on every stage.
double PlanRunner::least_operations(const RunLength& length) const {
  return static_cast<double>(length.microbatches) * static_cast<double>(program_.kept->plan.stages.size()) *
         static_cast<double>(choices_.iterations);
}

/// Of a short run: a forward and a backward of each microbatch on every stage, and two transfers.
std::size_t PlanRunner::expected_spans(const RunLength& length, RecordPart record) const {
  return record == RecordPart::Spans ? static_cast<std::size_t>(4.0 * least_operations(length)) : 0;
}

/// Refuses a run of so many operations if its record is wanted and may not have them.
void PlanRunner::refuse_long_run(double operations) const {
  const std::optional<Recording>& wish = choices_.recording;
  if (!wish || operations <= static_cast<double>(wish->most)) return;
  throw InputError(
      "takes a run of at most " + counted(wish->most, "operation") + ", and this one has more",
      {"", 0, 0, wish->option},
      (program_.synchronous ? "fewer microbatches or iterations make it shorter" : "--run-length makes it shorter") +
          wish->hint);
}

Report PlanRunner::run(EngineChoice choice, const Engine& engine) {
  std::optional<Seconds> least;
  const auto with_bound = [&](const RunLength& length) {
    RunOutcome outcome = run_once(choice, engine, length);
    if (choice == EngineChoice::Evaluate) simulation_.traffic = std::move(outcome.traffic);
    if (choice == choices_.engine) simulation_.record = std::move(outcome.record);
    Report report = std::move(outcome.report);
    if (!report.period || !report.course.replans.empty()) return report;  // the bound is that of one plan
    if (!least) {
      if (const std::optional<LowerBound> found = bound(choice)) least = found->time;
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

/// Why the whole run is simulated before anything is known about its states.
std::optional<WholeBecause> PlanRunner::runs_whole() const {
  if (choices_.recording) return WholeBecause::Recorded;
  if (choices_.replan || !choices_.events.empty()) return WholeBecause::Changes;
  if (choices_.iterations > 1) return WholeBecause::Iterations;
  if (choices_.literal || program_.repeats == 0) return WholeBecause::Orders;
  return std::nullopt;
}

RecordPart PlanRunner::wanted_record(EngineChoice choice) const {
  return choices_.recording && choice == choices_.engine ? RecordPart::All : RecordPart::None;
}

RunOutcome PlanRunner::run_once(EngineChoice choice, const Engine& engine, const RunLength& length) {
  simulation_.long_run.reset();
  if (length.microbatches >= kLeastLongRun && length.head == 0) return run_long(choice, engine, length);
  if (choice == EngineChoice::Evaluate) evaluated_.reset();
  return engine(run_, length, wanted_record(choice));
}

/// A replay looks for a state only where the evaluation has found one.
RunOutcome PlanRunner::run_long(EngineChoice choice, const Engine& engine, const RunLength& length) {
  const bool evaluates = choice == EngineChoice::Evaluate;
  LongRun& how = simulation_.long_run.emplace();
  std::optional<RunOutcome> outcome;
  if (const std::optional<WholeBecause> why = runs_whole()) {
    how.how = *why;
  } else if (evaluates || evaluated_) {
    RepeatedRun repeated(platform_, run_);
    const auto run_short = [&](const RunLength& of_run) {
      return engine(with_length(graph_, platform_, run_, of_run), of_run, RecordPart::Spans);
    };
    outcome = repeated.find(run_short, evaluates ? nullptr : &*evaluated_);
    if (outcome) how.how = repeated.repetition();
    if (outcome && evaluates) evaluated_ = {repeated.repetition(), repeated.take_longer()};
  }
  if (outcome && !choices_.verifies_repetition) return *std::move(outcome);
  RunOutcome whole = engine(run_, length, wanted_record(choice));
  if (outcome) how.difference = largest_difference(outcome->report, whole.report);
  return whole;
}

LowerOptions PlanRunner::lower_options(const RunLength& length) const {
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

}  // namespace stagecraft
