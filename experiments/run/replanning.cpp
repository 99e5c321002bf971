#include "experiments/run/replanning.hpp"

#include "experiments/run/live_stall.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/switch_stall.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/savings/memory_policy.hpp"
#include "planners/shared/turns/finished_plan.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/platform_part.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

constexpr double kSlowdownToTell = 0.05;  ///< a device that is this much slower or faster is named
constexpr std::size_t kReasonsToTell = 3;
constexpr double kRounding = 1e-9;  ///< of times that were evaluated, as a part of them

bool has_option(const PlannerInfo& planner, const std::string& name) {
  return std::ranges::find(planner.options, name, &OptionInfo::name) != planner.options.end();
}

/// The number of replicas that every stage has; none if they differ.
std::optional<std::size_t> replicas_of_each(const Plan& plan) {
  const std::size_t count = plan.stages.front().replicas.size();
  const auto has_as_many = [&](const Stage& stage) { return stage.replicas.size() == count; };
  return std::ranges::all_of(plan.stages, has_as_many) ? std::optional(count) : std::nullopt;
}

/// The options that the user gives, and the number of stages and of replicas of a plan, if there are devices for them.
Options options_like(const Plan& plan, const ReplanChoices& choices, std::size_t devices, bool are_all_up) {
  const PlannerInfo& planner = *choices.planner;
  GivenOptions given;
  const std::optional<std::size_t> replicas = replicas_of_each(plan);
  const bool is_possible = are_all_up || Replicas(plan).size() <= devices;
  if (is_possible && has_option(planner, "stages")) given.emplace_back("stages", std::to_string(plan.stages.size()));
  if (is_possible && has_option(planner, "replicas") && replicas) {
    given.emplace_back("replicas", std::to_string(*replicas));
  }
  given.insert(given.end(), choices.options.begin(), choices.options.end());
  return parse_options(planner, given);
}

/// What an iteration or a microbatch takes under a plan, and whether it fits in memory.
struct Judged {
  Seconds time;
  bool fits = true;
};

/// Of an asynchronous plan the period of the shortest run that converges, however long training goes on.
Judged judge(const LayerGraph& graph, const Platform& platform, Plan plan) {
  if (!is_asynchronous(plan.schedule)) {
    const Report report = evaluate_plan(graph, platform, plan);
    return {report.iterations.back(), !report.out_of_memory()};
  }
  plan.microbatches = 1;
  const Report report = evaluate_until_converged(graph, platform, require_schedule(graph, platform, plan));
  return {*report.period, !report.out_of_memory()};
}

bool has_same_stages(const Plan& a, const Plan& b) { return a.stages == b.stages && a.pattern == b.pattern; }

std::vector<DeviceId> devices_down(const Observation& seen) {
  std::vector<DeviceId> down;
  for (const DownObservation& each : seen.down) down.push_back(each.device);
  return down;
}

/// The devices that are down or will leave.
std::vector<DeviceId> devices_to_avoid(const Observation& seen) {
  std::vector<DeviceId> devices = devices_down(seen);
  for (const LeavingObservation& each : seen.leaving) {
    if (std::ranges::count(devices, each.device) == 0) devices.push_back(each.device);
  }
  return devices;
}

bool uses_any(const Plan& plan, const std::vector<DeviceId>& devices) {
  const Replicas replicas(plan);
  return std::ranges::any_of(devices, [&](DeviceId id) { return !replicas.on(id).empty(); });
}

/// The first of them, and how many more there are.
std::string first_of(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < std::min(parts.size(), kReasonsToTell); ++i) text += (i == 0 ? "" : ", ") + parts[i];
  if (parts.size() > kReasonsToTell) text += fmt::format(" and {} more", parts.size() - kReasonsToTell);
  return text;
}

std::string names_of(const Platform& platform, const std::vector<DeviceId>& devices) {
  std::vector<std::string> names;
  for (DeviceId id : devices) names.push_back(platform.devices[id].name);
  return first_of(names);
}

/// `gpu1 takes 1.5 times its time`, the most unusual device first; the links and the memories that have changed.
std::string seen_text(const Platform& platform, const Platform& seen) {
  std::vector<DeviceId> unusual;
  for (DeviceId id : indices(seen.devices)) {
    if (std::abs(seen.devices[id].slowdown - 1.0) >= kSlowdownToTell) unusual.push_back(id);
  }
  const auto distance = [&](DeviceId id) { return std::abs(std::log(seen.devices[id].slowdown)); };
  std::ranges::stable_sort(unusual, std::greater<>(), distance);
  std::vector<std::string> parts;
  for (DeviceId id : unusual) {
    parts.push_back(fmt::format("{} takes {:.2f} times its time", seen.devices[id].name, seen.devices[id].slowdown));
  }
  for (LinkId id : indices(seen.links)) {
    if (seen.links[id].bandwidth == platform.links[id].bandwidth) continue;
    parts.push_back(seen.links[id].name + " has " + format_human_bandwidth(seen.links[id].bandwidth));
  }
  for (DeviceId id : indices(seen.devices)) {
    if (seen.memory(id) == platform.memory(id)) continue;
    parts.push_back(seen.devices[id].name + " has " + format_human_bytes(seen.memory(id)) + " of memory");
  }
  return first_of(parts);
}

/// `gpu2 leaves at 40 s`, or `idle gpu2 …` where the plan does not use it; the devices that have not left.
std::string leaving_text(const Platform& platform, const Observation& seen, const Plan& plan) {
  std::vector<std::string> parts;
  for (const LeavingObservation& each : seen.leaving) {
    if (each.at <= seen.now) continue;
    parts.push_back((uses_any(plan, {each.device}) ? "" : "idle ") + platform.devices[each.device].name +
                    " leaves at " + format_human_seconds(each.at));
  }
  return first_of(parts);
}

std::string joined(const std::string& what, const std::string& so) {
  return what + (what.empty() || so.empty() ? "" : "; ") + so;
}

/// A planner as a re-planner.
class PlanAgain {
 public:
  PlanAgain(const Platform& platform, ReplanChoices choices) : platform_(platform), choices_(std::move(choices)) {}

  ReplanAnswer operator()(const Observation& observation, const RunPosition& position) {
    const Platform seen = as_observed(platform_, observation);
    const std::vector<DeviceId> down = devices_down(observation);
    const std::vector<DeviceId> avoided = devices_to_avoid(observation);
    const std::string what = what_is_seen(seen, observation, position);
    const bool has_failed = position.cause == ReplanQuestion::Cause::Failure;
    if (!has_failed && uses_any(position.plan, down)) return {.reason = joined(what, "the plan waits for it")};
    const bool may_stay = !has_failed && !uses_any(position.plan, avoided);
    if (may_stay && position.cause == ReplanQuestion::Cause::Window) {
      if (std::string waits = why_to_wait(observation, position.plan); !waits.empty()) {
        return {.reason = joined(what, waits)};
      }
    }
    if (may_stay) uneven_ = 0;
    ReplanAnswer answer = ask(seen, avoided, position, what, may_stay);
    // Training goes on for a while with devices that are still there.
    if (has_failed && !answer.change && avoided != down) answer = ask(seen, down, position, what, may_stay);
    if (!may_stay && answer.change && !whole_) whole_ = position.plan;
    return answer;
  }

 private:
  [[nodiscard]] std::string what_is_seen(const Platform& seen, const Observation& observation,
                                         const RunPosition& position) {
    const std::vector<DeviceId> down = devices_down(observation);
    std::string what = joined(leaving_text(platform_, observation, position.plan), seen_text(platform_, seen));
    if (!down.empty()) what = joined(names_of(platform_, down) + " failed", what);
    std::vector<DeviceId> up = std::exchange(down_, down);
    std::erase_if(up, [&](DeviceId id) { return std::ranges::count(down, id) > 0; });
    if (!up.empty()) what = joined(names_of(platform_, up) + (up.size() == 1 ? " is" : " are") + " up again", what);
    if (what.empty() && position.cause != ReplanQuestion::Cause::Model) what = "nothing has changed";
    return what;
  }

  /// A plan without those devices; or why there is none.
  [[nodiscard]] std::variant<Plan, std::string> plan_again(const Platform& seen, const std::vector<DeviceId>& avoided,
                                                           const RunPosition& position) const {
    if (avoided.empty()) return plan_on(seen, position, &position.plan);
    if (avoided.size() == seen.devices.size()) return "no device is left";
    const PlatformPart part = platform_without(seen, avoided);
    const std::optional<Plan> running = plan_on_part(part, position.plan);
    auto found = plan_on(part.platform, position, running ? &*running : nullptr);
    if (auto* plan = std::get_if<Plan>(&found)) *plan = plan_on_whole(part, std::move(*plan));
    return found;
  }

  [[nodiscard]] std::variant<Plan, std::string> plan_on(const Platform& platform, const RunPosition& position,
                                                        const Plan* running) const {
    const ScheduleChoice& schedule = position.plan.schedule;
    const Plan& like = whole_ ? *whole_ : position.plan;
    const PlanRequest request{
        .graph = position.graph,
        .platform = platform,
        .schedule = schedule,
        .microbatches = is_asynchronous(schedule) ? position.microbatches : position.plan.microbatches,
        .training = position.plan.training,
        .options =
            options_like(like, choices_, platform.devices.size(), platform.devices.size() == platform_.devices.size()),
        .samples_per_update = std::nullopt,
        .memory = choices_.memory,
        .running = running};
    PlanResult result = plan_within_memory(*choices_.planner, request);
    if (const auto* none = std::get_if<Infeasible>(&result)) return "no plan: " + none->reason;
    Plan plan = finished_plan(*choices_.planner, request, std::get<Planned>(std::move(result))).plan;
    plan.rounds_per_update = position.plan.rounds_per_update;
    return plan;
  }

  /// The planner's answer for a platform without those devices. It may refuse those that are left, such as for fewer
  /// than the stages that the user wants. `may_stay`: else the plan that runs counts as one that does not fit.
  [[nodiscard]] ReplanAnswer ask(const Platform& seen, const std::vector<DeviceId>& avoided,
                                 const RunPosition& position, const std::string& what, bool may_stay) const {
    try {
      auto found = plan_again(seen, avoided, position);
      if (const auto* why_not = std::get_if<std::string>(&found)) return {.reason = joined(what, *why_not)};
      Plan plan = std::get<Plan>(std::move(found));
      if (position.cause == ReplanQuestion::Cause::Failure) return goes_on_with(seen, position, std::move(plan), what);
      return weigh(seen, position, std::move(plan), what, may_stay);
    } catch (const InputError& error) {
      if (avoided.empty()) throw;
      return {.reason = joined(what, "no plan: " + error.message())};
    }
  }

  /// The plan with which training goes on after a failure. It need not be fast, and has to fit.
  [[nodiscard]] static ReplanAnswer goes_on_with(const Platform& seen, const RunPosition& position, Plan plan,
                                                 const std::string& what) {
    require_sound(position.graph, seen, require_schedule(position.graph, seen, plan));
    const Judged then = judge(position.graph, seen, plan);
    ReplanAnswer answer{.reason = what, .changing = then.time};
    if (!then.fits) {
      answer.reason = joined(what, "the plan without it does not fit in memory");
      return answer;
    }
    answer.change = PlanSwitch{std::move(plan), position.earliest};
    return answer;
  }

  [[nodiscard]] ReplanAnswer weigh(const Platform& seen, const RunPosition& position, Plan plan,
                                   const std::string& what, bool may_stay) const {
    const Plan& running = position.plan;
    if (has_same_stages(plan, running)) return {.reason = joined(what, "the planner keeps the plan")};
    require_sound(position.graph, seen, require_schedule(position.graph, seen, plan));
    Judged now = judge(position.graph, seen, running);
    now.fits = now.fits && may_stay;
    const Judged then = judge(position.graph, seen, plan);
    ReplanAnswer answer{.reason = what, .keeping = now.time, .changing = then.time};
    const bool begins_model = position.cause == ReplanQuestion::Cause::Model;
    const std::int64_t first = begins_model ? position.earliest : first_behind_latency(position, now.time);
    Cost cost;
    if (!begins_model && first < position.end) {
      cost =
          cost_of(seen, position, {running, plan, then.time, first - position.begin, position.end - first}, now.time);
      answer.stall = cost.stall;
    }
    if (std::string why_not = why_to_stay(position, now, then, first, answer.stall); !why_not.empty()) {
      answer.reason = joined(what, why_not);
      return answer;
    }
    if (first >= position.end) {
      answer.reason = joined(what, "it is too late for the other plan");
    } else {
      answer.change = PlanSwitch{std::move(plan), first, cost.drains};
    }
    return answer;
  }

  /// What the switch is expected to cost, and whether the pipeline drains for it: it does if that costs less.
  struct Cost {
    Seconds stall;
    bool drains = true;
  };
  [[nodiscard]] Cost cost_of(const Platform& seen, const RunPosition& position, const PlansInTurn& plans,
                             Seconds now) const {
    const Seconds restart = choices_.migrating == Migrating::Restart ? *choices_.restart : Seconds(0);
    const Cost drained{switch_stall(position.graph, seen, plans, restart)};
    if (!position.may_go_live) return drained;
    const ScheduleProgram running = require_schedule(position.graph, seen, plans.before);
    const std::optional<Seconds> live = live_stall(position.graph, seen, running, plans.after, now);
    if (!live || *live > drained.stall) return drained;
    const bool drains = !can_go_live(position.graph, platform_, plans.before, plans.after, plans.run, plans.left);
    return {drains ? drained.stall : *live, false};  // the run finds the same, and tells why
  }

  /// Why the planner is not asked after a window; empty if it is.
  [[nodiscard]] std::string why_to_wait(const Observation& observation, const Plan& plan) {
    const ReplanPolicy& policy = choices_.policy;
    if (policy.imbalance <= 0.0 && policy.patience <= 1) return {};
    const double imbalance = observed_imbalance(observation, plan).value_or(0.0);
    if (imbalance <= policy.imbalance) {
      uneven_ = 0;
      return fmt::format("kept: stages are within {:g} % (slowest {:+.1f} %)", 100.0 * policy.imbalance,
                         100.0 * imbalance);
    }
    if (++uneven_ >= policy.patience) return {};
    return fmt::format("the slowest stage is {:.1f} % above the mean, for {} of {} windows", 100.0 * imbalance, uneven_,
                       policy.patience);
  }

  /// Why the plan that runs stays; empty if the other one is taken.
  [[nodiscard]] std::string why_to_stay(const RunPosition& position, const Judged& now, const Judged& then,
                                        std::int64_t first, const std::optional<Seconds>& stall) const {
    const ReplanPolicy& policy = choices_.policy;
    if (!then.fits) return "the other plan does not fit in memory";
    if (!now.fits) return {};
    const Seconds saved = now.time - then.time;
    if (saved <= now.time * kRounding) return "the other plan is not faster";
    if (saved <= now.time * policy.gain)
      return fmt::format("the other plan saves {:.1f} %", 100.0 * (saved / now.time));
    const std::int64_t each = is_asynchronous(position.plan.schedule) ? 1 : position.plan.microbatches;
    const std::int64_t horizon = std::min(policy.horizon, position.end - first);
    const Seconds in_all = saved * (static_cast<double>(horizon) / static_cast<double>(each));
    if (!stall || in_all > *stall) return {};
    return fmt::format("the other plan saves {} in {} microbatches, and the switch costs {}",
                       format_human_seconds(in_all), horizon, format_human_seconds(*stall));
  }

  /// The first microbatch that the answer reaches in time, if the plan that runs takes that time.
  [[nodiscard]] std::int64_t first_behind_latency(const RunPosition& position, Seconds time) const {
    const std::int64_t each = is_asynchronous(position.plan.schedule) ? 1 : position.plan.microbatches;
    const double passed = time > Seconds(0) ? choices_.policy.latency / time * static_cast<double>(each) : 0.0;
    // An answer that comes with a microbatch is in time.
    const double wholes = std::ceil(passed / static_cast<double>(position.whole) * (1.0 - kRounding));
    const auto most = static_cast<double>(position.microbatches);
    return position.earliest + static_cast<std::int64_t>(std::min(wholes * static_cast<double>(position.whole), most));
  }

  const Platform& platform_;
  ReplanChoices choices_;
  std::int64_t uneven_ = 0;     ///< windows in a row
  std::vector<DeviceId> down_;  ///< at the last question
  std::optional<Plan> whole_;   ///< the plan before the first failure or departure
};

}  // namespace

Platform as_observed(Platform platform, const Observation& seen) {
  for (DeviceId id : indices(seen.devices)) {
    const DeviceObservation& device = seen.devices[id];
    if (device.nominal > Seconds(0)) platform.devices[id].slowdown = device.measured / device.nominal;
  }
  for (const LinkObservation& link : seen.links) platform.links[link.link].bandwidth = link.bandwidth;
  for (const MemoryObservation& memory : seen.memories) platform.devices[memory.device].memory = memory.memory;
  return platform;
}

Replanning replanning(const Platform& platform, const ReplanChoices& choices) {
  return {.start = [&platform, choices]() -> Replanner { return PlanAgain(platform, choices); },
          .window = choices.window,
          .migrating = choices.migrating,
          .restart = choices.restart.value_or(Seconds(0)),
          .leave = choices.leave,
          .checkpoint = choices.checkpoint,
          .save = choices.save};
}

}  // namespace stagecraft
