#include "experiments/commands/shared_options.hpp"

#include "experiments/commands/add_option.hpp"
#include "experiments/run/chosen_size.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/option_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/events_file.hpp"
#include "sim/io/file_remarks.hpp"
#include "sim/model/precision.hpp"
#include "sim/workload/transformer.hpp"

#include <algorithm>
#include <limits>
#include <variant>

namespace stagecraft {
void add_platform_options(CLI::App& command, PlatformOptions& options) {
  add_required(command, "--platform", options.platform, "the platform: a file, or the name of a shipped one");
  add_speed_option(command, options.speeds);
}

void add_speed_option(CLI::App& command, std::vector<std::string>& speeds, const std::string& when) {
  add_repeated(command, "--speed", speeds,
               when +
                   "KIND=X: speed of a kind of device relative to the others, in place of the platform's; may be "
                   "repeated");
}

void add_computed_options(CLI::App& command, ComputedOptions& options) {
  const std::string of = "of a network, or of a computed model file without figures: ";
  add_option(command, "--precision", options.precision,
             of + "fp32, tf32, bf16, fp16 or fp8; default: bf16 or else fp16 where devices have it; the file's");
  add_option(command, "--sequence", options.sequence, of + "tokens in a sample; default: the network's; the file's");
  add_option(command, "--granularity", options.granularity,
             of + "what one layer stands for: operator, layer, residual or block; default: layer; the file's");
  add_flag(command, "--selective-recompute", options.selective_recompute,
           of + "the backward computes attention that is not fused again, and its scores are not kept");
}

ModelChoice read_computed_options(const ComputedOptions& options) {
  ModelChoice choice;
  if (options.precision) {
    choice.computed.precision =
        read_choice_option("--precision", *options.precision, {kPrecisions.begin(), kPrecisions.end()});
  }
  choice.computed.sequence = read_count_option("--sequence", options.sequence, 1, largest_transformer().sequence);
  if (options.granularity) {
    choice.computed.granularity =
        read_choice_option("--granularity", *options.granularity, {"operator", "layer", "residual", "block"});
  }
  if (options.selective_recompute) choice.computed.selective_recompute = true;
  return choice;
}

void add_input_options(CLI::App& command, InputOptions& options) {
  add_required(
      command, "--model", options.model,
      "the model: a model file, an architecture file or a config.json, or the name of a shipped file or of a network");
  add_computed_options(command, options.computed);
  add_platform_options(command, options.platform);
}

Inputs load_inputs(const InputOptions& options, const Settings& settings) {
  return load_inputs(options, read_set_option(options.set).overrides, settings);
}

Inputs load_inputs(const InputOptions& options, const Overrides& overrides, const Settings& settings) {
  const ModelChoice choice = options.of_plan ? *options.of_plan : read_computed_options(options.computed);
  Inputs inputs = load_inputs(options.model, options.platform.platform, read_speed_options(options.platform.speeds),
                              overrides, choice);
  tell_remarks(inputs.remarks, settings);
  return inputs;
}

void tell_remarks(const std::vector<std::string>& remarks, const Settings& settings) {
  for (const std::string& remark : remarks) settings.say("note: " + remark);
}

void add_set_option(CLI::App& command, std::vector<std::string>& set, SetUse use) {
  const std::string key = use == SetUse::Planners ? "[PLANNER.]KEY" : "PLANNER.KEY";
  const std::string of_planner = use == SetUse::Files ? "" : key + ", an option of a planner; ";
  const std::string of_study = use == SetUse::Study ? "any other key of all cells, limits.KEY or seeds.KEY; " : "";
  add_repeated(command, "--set", set,
               "NAME=VALUE,...: set platform.PATH or model.PATH, a value of a file; " + of_planner + of_study +
                   "may be repeated");
}

void add_length_options(CLI::App& command, LengthOptions& options) {
  add_option(command, "--samples-per-update", options.samples_per_update,
             "samples whose gradients one update sums up: sets the microbatches of an iteration, or the rounds after "
             "which an asynchronous plan updates");
  add_option(command, "--run-length", options.run_length,
             "microbatches of an asynchronous run, exactly; default: until its period has converged");
}

std::optional<std::int64_t> read_samples_per_update(const LengthOptions& options) {
  return read_count_option("--samples-per-update", options.samples_per_update, 1, run_limits::kMostSamples);
}

std::optional<std::int64_t> read_run_length(const LengthOptions& options) {
  return read_count_option("--run-length", options.run_length, 1, run_limits::kMostMicrobatches);
}

void refuse_run_length(const std::optional<std::int64_t>& length, bool synchronous) {
  if (!length || !synchronous) return;
  throw InputError("applies to asynchronous schedules only", {"", 0, 0, "--run-length"},
                   "--iterations and the plan's microbatches give the length of a synchronous run");
}

void add_planning_options(CLI::App& command, PlanningOptions& options, MicrobatchSize size) {
  add_option(command, "--schedule", options.schedule,
             "schedule, with parameters as NAME,K=V,...; default: the planner's own");
  add_option(
      command, "--microbatches", options.microbatches,
      "microbatches in an iteration over all replicas, or the least length of an asynchronous run; default: 4 per "
      "device, and for an asynchronous run at least as many as it takes to measure its period");
  add_option(command, "--global-batch", options.global_batch,
             "samples in an iteration, instead of --microbatches; must be a multiple of the samples of a microbatch");
  add_length_options(command, options.length);
  if (size == MicrobatchSize::Chosen) {
    options.groups.offers_auto = true;
    add_option(
        command, "--microbatch-size", options.microbatch_size,
        "samples in a microbatch, or auto: each planner's fastest of several sizes, which needs --global-batch or "
        "--samples-per-update; default: the smallest size that the model file gives. Groups of more --expert devices "
        "than --tensor times --context run several such at once");
  }
  add_group_options(command, options.groups);
  add_option(command, "--zero", options.zero,
             "what the replicas of a stage divide instead of each keeping a copy: 1 the optimizer's state, 2 gradients "
             "too, 3 weights too; default: 0, nothing. The same as the key zero of --training");
  add_option(
      command, "--memory", options.memory,
      "what a plan that does not fit may do: keep: nothing; recompute: make stashes again; swap: bring them to "
      "the host; cheapest (default): whatever takes the least time. A plan that memory does not limit does nothing");
  add_option(
      command, "--training", options.training,
      "K=V,...: how much training keeps in memory; keys and defaults: gradient_copies (1), "
      "optimizer_copies (2), boundary_buffers (2), input_gradient_release (0); and gradient_bucket, the size "
      "of the parts in which replicas exchange gradients during the backward (0: all after it; default: the "
      "planner's own); and stash: autograd, what the model file says that layers "
      "keep and need (default), or input, the bytes of their inputs only; and recipe, the optimizer's, which gives "
      "the copies: fp32, sgd-momentum, mixed, mixed-16, mixed-16-accumulate-32 or pure-16 (default: mixed for "
      "a model with parameters of 2 bytes); and zero, as --zero");
  add_option(command, "--planner-time-limit", options.planner_time_limit,
             "time limit for an external planner (exec:PATH), such as '90 s'; default: 10 min");
}

PlanningChoices read_planning_choices(const PlanningOptions& options) {
  PlanningChoices choices;
  if (options.microbatches && options.global_batch) {
    throw InputError("give --microbatches or --global-batch, not both");
  }
  if ((options.microbatches || options.global_batch) && options.length.samples_per_update) {
    throw InputError("give --samples-per-update or the microbatches of an iteration, not both", {},
                     "the length of an asynchronous run is given with --run-length");
  }
  if (options.schedule) choices.schedule = read_schedule_option("--schedule", *options.schedule);
  choices.microbatches = read_count_option("--microbatches", options.microbatches, 1, run_limits::kMostMicrobatches);
  choices.global_batch = read_count_option("--global-batch", options.global_batch, 1, run_limits::kMostSamples);
  choices.samples_per_update = read_samples_per_update(options.length);
  choices.run_length = read_run_length(options.length);
  choices.fastest_size = options.groups.offers_auto && options.microbatch_size == kFastestSize;
  if (!choices.fastest_size) {
    choices.microbatch_size =
        read_count_option("--microbatch-size", options.microbatch_size, 1, run_limits::kMostSamples);
  }
  check_size_choice(choices);
  read_group_options(options.groups, choices);
  if (options.memory) choices.memory = read_memory_option("--memory", *options.memory);
  choices.training = read_training_option(options.training);
  if (const auto zero = read_count_option("--zero", options.zero, 0, kMostDivided)) {
    const bool is_given_twice = options.training && options.training->find("zero=") != std::string::npos;
    if (is_given_twice) throw InputError("give --zero or the key zero of --training, not both");
    choices.training.zero = *zero;
  }
  return choices;
}

UsedPlanners read_planners_option(const std::string& text, const ExternalCalls& calls) {
  UsedPlanners planners;
  for (const std::string& name : read_list_option("--planners", text)) {
    if (std::ranges::any_of(planners, [&](const auto& each) { return each->name == name; })) {
      throw InputError(quote(name) + " is given twice", {"", 0, 0, "--planners"});
    }
    planners.push_back(resolve_planner(name, calls));
  }
  return planners;
}

ExternalCalls read_external_options(const PlanningOptions& options) {
  ExternalCalls calls;
  if (options.planner_time_limit) {
    calls.time_limit =
        read_time_option("--planner-time-limit", *options.planner_time_limit, run_limits::kLongestPlanning);
  }
  return calls;
}

void add_simulation_options(CLI::App& command, SimulationOptions& options) {
  add_option(command, "--engine", options.engine, "replay: SimGrid, transfers share links; evaluate: no contention");
  add_option(command, "--network", options.network,
             "platform: transfers cross the platform's links; analytic: one exclusive channel for each stage boundary");
  add_option(command, "--iterations", options.iterations,
             "iterations of a synchronous schedule; the figures are those of the last one");
  add_option(
      command, "--replan", options.replan,
      "PLANNER,K=V,...: ask this planner for another plan while training runs, with its options and those that say "
      "when: window (256 microbatches), imbalance, patience, gain (0.02), horizon, latency; how: migrate=live, "
      "stop-copy or restart, restart; checkpoints: checkpoint, save; after a failure: leave (10 s), restart; none: "
      "keep the plan");
  add_option(command, "--events", options.events,
             "file of events during the run: slowdowns, changes of bandwidth, memory, model and microbatches, "
             "failures, noise, work");
  add_option(command, "--noise-seed", options.noise_seed,
             "N: changes the noise of the events file; each N gives different noise");
}

SimulationChoices read_simulation_choices(const SimulationOptions& options, const ExternalCalls& calls) {
  SimulationChoices choices;
  const bool replays = read_choice_option("--engine", options.engine, {"replay", "evaluate"}) == "replay";
  choices.engine = replays ? EngineChoice::Replay : EngineChoice::Evaluate;
  const bool is_real = read_choice_option("--network", options.network, {"platform", "analytic"}) == "platform";
  choices.network = is_real ? NetworkModel::Platform : NetworkModel::Analytic;
  choices.verifies_repetition = options.verify_steady;
  choices.iterations = read_count_option("--iterations", options.iterations, 1, run_limits::kMostIterations);
  choices.replan = read_replan_option("--replan", options.replan,
                                      [&](const std::string& name) { return resolve_planner(name, calls); });
  const auto seed = read_count_option("--noise-seed", options.noise_seed, 0, std::numeric_limits<std::int64_t>::max());
  if (seed) choices.noise_seed = static_cast<std::uint64_t>(*seed);
  if (seed && !options.events) throw InputError("--noise-seed needs the noise of an --events file");
  return choices;
}

void take_events(const SimulationOptions& options, const Inputs& inputs, SimulationChoices& choices,
                 const Settings& settings) {
  if (!options.events) return;
  const EventsFile file = load_events(*options.events, *options.events);
  choices.set_events(file, inputs.model, inputs.platform);
  tell_remarks(file_remarks(file.text, *options.events), settings);
  const auto is_noise = [](const Event& event) { return std::holds_alternative<Jitter>(event.change); };
  if (choices.noise_seed && std::ranges::none_of(choices.events, is_noise)) {
    settings.say(
        "warning: --noise-seed changes nothing, because the events have no noise (no event with the key 'jitter')");
  }
}

}  // namespace stagecraft
