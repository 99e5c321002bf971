#include "experiments/run/planning.hpp"

#include "experiments/run/degrees_text.hpp"
#include "experiments/run/judge.hpp"
#include "experiments/run/plan_judge.hpp"
#include "experiments/run/planner_view.hpp"
#include "experiments/run/update_size.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "planners/shared/costs/limits.hpp"
#include "planners/shared/savings/least_memory.hpp"
#include "planners/shared/savings/memory_policy.hpp"
#include "planners/shared/turns/finished_plan.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/convergence.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/replica_programs.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kMicrobatchesPerDevice = 4;

ScheduleChoice schedule_of(const PlannerInfo& planner, const PlanningChoices& choices) {
  if (!choices.schedule) return {planner.default_schedule, {}};
  const std::string& name = choices.schedule->name;
  if (name == "literal") {
    throw InputError("a planner cannot use the schedule 'literal', whose orders come from a file", {},
                     "plan with another schedule, and give the file to simulate --schedule-file");
  }
  static_cast<void>(schedule_parameters(*choices.schedule));  // refuses what is wrong with it
  return *choices.schedule;
}

/// Whether the schedule is known to be asynchronous before the plan is.
bool runs_asynchronously(const ScheduleChoice& schedule) {
  return !schedule.name.empty() && !require_family(schedule.name).synchronous;
}

/// All samples that a group runs together: the members that differ in samples have the size of a microbatch each.
std::int64_t samples_of_microbatch(const LayerGraph& graph, const PlanningChoices& choices) {
  return graph.microbatch_size * choices.degrees.samples();
}

/// Of some samples those that each of the members has that differ in samples. Planners count these.
std::optional<std::int64_t> samples_of_member(const std::optional<std::int64_t>& samples,
                                              const PlanningChoices& choices) {
  if (!samples) return std::nullopt;
  const std::int64_t members = choices.degrees.samples();
  if (*samples % members == 0) return *samples / members;
  throw InputError(fmt::format("{} are not a multiple of the {} that a microbatch{} has at least",
                               counted(*samples, "sample"), members, on_groups_text(choices.degrees)),
                   {}, "give another --global-batch or --samples-per-update, or the key of a study");
}

std::int64_t microbatch_count(const PlannerView& view, const PlanningChoices& choices, bool asynchronous) {
  const std::int64_t samples = samples_of_microbatch(view.graph(), choices);
  const std::int64_t usual = kMicrobatchesPerDevice * static_cast<std::int64_t>(view.platform().devices.size());
  if (choices.run_length && asynchronous) return *choices.run_length;
  if (choices.microbatches) return asynchronous ? std::max(*choices.microbatches, usual) : *choices.microbatches;
  if (choices.samples_per_update && !asynchronous) {
    return microbatches_of_update(*choices.samples_per_update, samples);
  }
  if (!choices.global_batch) return usual;
  if (*choices.global_batch % samples != 0) {
    throw InputError(fmt::format("a global batch of {} samples is not a multiple of the {} samples of a microbatch{}",
                                 *choices.global_batch, samples, on_groups_text(choices.degrees)),
                     {},
                     choices.degrees.samples() > 1
                         ? "choose a multiple, or with --microbatch-size how many samples each device has"
                         : "choose the size of a microbatch: --microbatch-size, or the key microbatch_size of a study");
  }
  const std::int64_t whole = *choices.global_batch / samples;
  return asynchronous ? std::max(whole, usual) : whole;
}

/// Compiles a planner's plan, with the samples of an update and a length with which an asynchronous run can be
/// measured, unless its length is given.
ScheduleProgram complete(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                         const PlanningChoices& choices) {
  ScheduleProgram program = require_schedule(graph, platform, plan);
  if (choices.samples_per_update) {
    program = with_samples_per_update(graph, platform, std::move(program), *choices.samples_per_update);
  }
  if (choices.run_length) return program;
  const std::int64_t least = least_microbatches(program, program.kept->replicas);
  const RunLength length{std::max(program.kept->plan.microbatches, least)};
  return with_length(graph, platform, std::move(program), length);
}

PlanRequest make_request(const PlannerInfo& planner, const PlannerView& view, const PlanningChoices& choices) {
  const LayerGraph& graph = view.graph();
  const ScheduleChoice schedule = schedule_of(planner, choices);
  const bool asynchronous = runs_asynchronously(schedule);
  PlanRequest request{.graph = graph,
                      .platform = view.platform(),
                      .schedule = schedule,
                      .microbatches = microbatch_count(view, choices, asynchronous),
                      .training = training_of(choices.training, graph),
                      .options = parse_options(planner, choices.options),
                      .samples_per_update = samples_of_member(choices.samples_per_update, choices),
                      .memory = choices.memory};
  const Plan whole = empty_plan(planner, request);
  if (const auto problem = size_problem(graph, whole, choices.iterations)) throw InputError(*problem);
  return request;
}

/// The samples in the largest parts of divided microbatches whose times are extrapolated, though those of whole
/// microbatches are not.
std::set<std::int64_t> extrapolated_parts(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  std::set<std::int64_t> parts;
  for (const Stage& stage : plan.stages) {
    const std::int64_t samples = samples_of(largest_share(stage, graph.microbatch_size), graph.microbatch_size);
    if (samples == graph.microbatch_size || graph.origin == Origin::Extrapolated) continue;
    for (const DeviceId device : devices_of(stage)) {
      if (times_origin(graph, platform, device, samples) == Origin::Extrapolated) parts.insert(samples);
    }
  }
  return parts;
}

/// `recomputes 3 and swaps 4 of 24 layers`; empty if the plan does neither.
std::string saved_layers(const LayerGraph& graph, const Planned& planned) {
  const Plan& plan = planned.plan;
  const std::int64_t recomputed = layers_with<Recompute>(plan);
  const std::int64_t swapped = layers_with<Swap>(plan);
  if (recomputed + swapped == 0) return "";
  std::string what = recomputed > 0 ? "recomputes " + std::to_string(recomputed) : "";
  if (swapped > 0) what += (what.empty() ? "swaps " : " and swaps ") + std::to_string(swapped);
  what += " of " + counted(graph.layers.size(), "layer");
  if (!std::ranges::all_of(plan.stages, covers_all)) what += ", some of them for some microbatches only";
  if (planned.saved_by_policy) what += ", as the common memory policy chose";
  return what;
}

/// The planner's answer for a request, made by `ask`, with the order of turns and all that the user's choices add.
Planning answer_with(const PlannerInfo& planner, const Inputs& inputs, const PlanningChoices& choices,
                     const std::function<void(const std::string&)>& say,
                     const std::function<PlanResult(const PlanRequest&)>& ask) {
  using Clock = std::chrono::steady_clock;
  Planning planning;
  planning.planner = &planner;
  planning.graph = profile_at(inputs.model, choices.microbatch_size, choices.training.stash, say, choices.degrees);
  const PlannerView view(inputs.platform, planning.graph);
  PlanRequest request = make_request(planner, view, choices);
  const Judge judge = judge_of(planning.graph, inputs.platform, [&](const Plan& plan) {
    return complete(planning.graph, inputs.platform, view.on_whole(plan), choices);
  });
  request.judge = &judge;
  const Clock::time_point start = Clock::now();
  {
    const Activity activity("planning with " + planner.name);
    planning.result = ask(request);
  }
  auto* planned = std::get_if<Planned>(&planning.result);
  if (planned != nullptr) *planned = finished_plan(planner, request, std::move(*planned));
  planning.time = Seconds(std::chrono::duration<double>(Clock::now() - start).count());
  if (planned == nullptr) {
    std::optional<DeviceId>& device = std::get<Infeasible>(planning.result).device;
    if (device) device = view.on_whole(*device);
    return planning;
  }
  Plan& plan = planned->plan;
  plan = view.on_whole(std::move(plan));
  plan.model_hash = inputs.model_hash;
  plan.platform_hash = inputs.platform_hash;
  plan.computed = inputs.computed;
  planning.program = complete(planning.graph, inputs.platform, plan, choices);
  require_sound(planning.graph, inputs.platform, *planning.program);
  plan = planning.program->kept->plan;
  for (const std::string& note : planned->notes) say("note: " + planner.name + ": " + note);
  if (const auto parts = extrapolated_parts(planning.graph, inputs.platform, plan); !parts.empty()) {
    say(fmt::format(
        "note: {}: microbatches of {} are divided into parts of {}, outside the sizes of the profile; their "
        "times are extrapolated",
        planner.name, counted(planning.graph.microbatch_size, "sample"), fmt::join(parts, " and ")));
  }
  return planning;
}

/// The largest smaller microbatch size with a plan.
std::optional<std::int64_t> smaller_size_with_plan(const Planning& planning, const Inputs& inputs,
                                                   const PlanningChoices& choices) {
  const auto& none = std::get<Infeasible>(planning.result);
  if (none.is_costly) return std::nullopt;
  const PlannerInfo& planner = *planning.planner;
  const Activity activity("looking for a smaller microbatch that fits");
  const auto ask = [&](std::int64_t size) -> SizeAnswer {
    try {
      return size_answer(plan_at_size(planner, inputs, choices, size, [](const std::string&) {}));
    } catch (const InputError&) {
      return {};
    }
  };
  const SizeQuestion question{.sizes = sizes_to_choose(choices, planning.graph.microbatch_size),
                              .ask = ask,
                              .surely_fits = quick_test(planner, inputs, choices)};
  return largest_size_below(question, size_answer(planning)).size;
}

}  // namespace

void require_sound(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program) {
  const Plan& plan = program.kept->plan;
  require_connected(graph, platform, plan);
  for (const Violation& violation : check_plan(graph, platform, plan)) {
    throw InternalError("planner " + quote(plan.planner) + " made a plan that breaks a rule: " + violation.message);
  }
  const std::vector<Finding> findings = judge_program(graph, program);
  if (!findings.empty()) throw InputError(findings.front().message);
}

void check_choices(const PlannerInfo& planner, const Inputs& inputs, const PlanningChoices& choices) {
  if (choices.fastest_size) {
    check_size_choice(choices);
    return;
  }
  if (choices.fastest_degrees) return;
  const auto ignore = [](const std::string&) {};
  const LayerGraph graph =
      profile_at(inputs.model, choices.microbatch_size, choices.training.stash, ignore, choices.degrees);
  static_cast<void>(make_request(planner, PlannerView(inputs.platform, graph), choices));
}

void check_size_choice(const PlanningChoices& choices) {
  if (!choices.fastest_size || choices.global_batch || choices.samples_per_update) return;
  throw InputError(
      "the microbatch size auto needs the samples of an iteration or of an update", {},
      "give --global-batch or --samples-per-update, or the key global_batch or samples_per_update of a study");
}

std::string idle_devices_text(const Plan& plan, const Platform& platform) {
  const std::size_t devices = platform.devices.size();
  const std::size_t used = used_devices(Replicas(plan));
  return used < devices ? fmt::format("{} of {} stand idle", devices - used, counted(devices, "device")) : "";
}

void tell_plan(const Planning& planning, const Platform& platform, const std::function<void(const std::string&)>& say) {
  if (planning.planned() == nullptr) return;
  const Plan& plan = planning.planned()->plan;
  const std::string note = "note: " + planning.planner->name + ": ";
  if (const std::string saved = saved_layers(planning.graph, *planning.planned()); !saved.empty())
    say(note + "the plan " + saved);
  if (const std::string idle = idle_devices_text(plan, platform); !idle.empty()) say(note + idle);
}

Planning make_plan(const PlannerInfo& planner, const Inputs& inputs, const PlanningChoices& choices,
                   const std::function<void(const std::string&)>& say) {
  Planning planning = answer_with(planner, inputs, choices, say,
                                  [&](const PlanRequest& request) { return plan_explained(planner, request); });
  if (planning.planned() == nullptr) {
    planning.largest_microbatch_size = smaller_size_with_plan(planning, inputs, choices);
  }
  return planning;
}

DespiteMemory plan_despite_memory(const PlannerInfo& planner, const Inputs& inputs, const PlanningChoices& choices,
                                  const Infeasible& none, const std::function<void(const std::string&)>& say) {
  const auto plan_with = [&](Bytes memory) {
    return answer_with(planner, inputs, choices, say, [&](const PlanRequest& request) {
      const Platform roomy = with_memory(request.platform, memory);
      return plan_within_memory(planner, on_platform(request, roomy));
    });
  };
  if (none.smallest_memory) {
    Planning least = plan_with(*none.smallest_memory);
    if (least.planned() != nullptr) return {std::move(least), none.smallest_memory};
  }
  return {plan_with(kMostMemory), std::nullopt};
}

Planning plan_at_size(const PlannerInfo& planner, const Inputs& inputs, PlanningChoices choices, std::int64_t size,
                      const std::function<void(const std::string&)>& say) {
  choices.microbatch_size = size;
  return answer_with(planner, inputs, choices, say,
                     [&](const PlanRequest& request) { return plan_within_memory(planner, request); });
}

Report evaluate_planning(const Planning& planning, const Platform& platform,
                         const std::optional<std::int64_t>& run_length) {
  const ScheduleProgram& program = *planning.program;
  return run_length ? evaluate_with_bound(planning.graph, platform, program)
                    : evaluate_until_converged(planning.graph, platform, program);
}

double compared_throughput(const Planning& planning, const Report& evaluated) {
  if (!planning.planned()->is_replayed) return evaluated.throughput;
  return evaluated.throughput * (evaluated.iterations.back() / *planning.planned()->plan.predicted.iteration_time);
}

SizeAnswer size_answer(const Planning& planning) {
  const auto* none = std::get_if<Infeasible>(&planning.result);
  if (none == nullptr) return {.fits = true, .work = planning.planned()->work};
  return {.tries_below = none->sizes_to_try, .work = none->work, .least = none->fewest_samples};
}

std::vector<std::int64_t> sizes_to_choose(const PlanningChoices& choices, std::int64_t end) {
  const auto& samples = choices.global_batch ? choices.global_batch : choices.samples_per_update;
  return sizes_below(end, samples_of_member(samples, choices));
}

std::function<bool(std::int64_t)> quick_test(const PlannerInfo& planner, const Inputs& inputs,
                                             const PlanningChoices& choices) {
  if (!planner.surely_plans) return {};
  return [&planner, &inputs, choices](std::int64_t size) {
    PlanningChoices sized = choices;
    sized.microbatch_size = size;
    try {
      const LayerGraph graph =
          profile_at(inputs.model, size, choices.training.stash, [](const std::string&) {}, choices.degrees);
      return planner.surely_plans(make_request(planner, PlannerView(inputs.platform, graph), sized));
    } catch (const InputError&) {
      return false;
    }
  };
}

}  // namespace stagecraft
