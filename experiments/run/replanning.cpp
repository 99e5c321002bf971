#include "experiments/run/replanning.hpp"

#include "experiments/run/limits.hpp"
#include "experiments/run/live_stall.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/planning.hpp"
#include "planners/shared/cost_model.hpp"
#include "planners/shared/turn_order.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr double kSlowdownToTell = 0.05;  ///< a device that is this much slower or faster is named
constexpr std::size_t kReasonsToTell = 3;
constexpr double kVpipeImbalance = 0.05;
constexpr std::int64_t kVpipePatience = 2;
constexpr std::int64_t kWindowsToPay = 10;  ///< in which a switch has to pay off
constexpr double kMostImbalance = 1e6;
constexpr std::int64_t kMostPatience = 1'000'000;
constexpr Seconds kLongestLatency(1e6);
constexpr Seconds kLongestRestart(1e6);

std::int64_t read_window(const std::string& option, const std::string& text) {
  return read_count_option(option + " window", text, 1, run_limits::kMostMicrobatches);
}

double read_share(const std::string& option, const std::string& text, double below) {
  const Parsed<double> share = parse_number(text);
  if (share && *share.value < below) return *share.value;
  throw InputError(
      "expected a number from 0 to less than " + format_number(below) + ", such as 0.02, found " + quote(text),
      {"", 0, 0, option});
}

/// Reads a key of the policy; false for another key.
bool read_policy(const std::string& option, const std::string& key, const std::string& text, ReplanPolicy& policy) {
  const std::string name = option + " " + key;
  if (key == "gain") {
    policy.gain = read_share(name, text, 1.0);
  } else if (key == "imbalance") {
    policy.imbalance = read_share(name, text, kMostImbalance);
  } else if (key == "patience") {
    policy.patience = read_count_option(name, text, 1, kMostPatience);
  } else if (key == "horizon") {
    policy.horizon = read_count_option(name, text, 1, run_limits::kMostMicrobatches);
  } else if (key == "latency") {
    policy.latency = text == "0" ? Seconds(0) : read_time_option(name, text, kLongestLatency);
  } else {
    return false;
  }
  return true;
}

Migrating read_migrating(const std::string& option, const std::string& text) {
  const std::array<Migrating, 3> ways{Migrating::Live, Migrating::StopCopy, Migrating::Restart};
  std::vector<std::string> names;
  for (const Migrating way : ways) names.emplace_back(to_string(way));
  const std::string name = read_choice_option(option, text, names);
  return *std::ranges::find_if(ways, [&](Migrating way) { return name == to_string(way); });
}

/// Reads how layers migrate; false for another key.
bool read_migration(const std::string& option, const std::string& key, const std::string& text,
                    ReplanChoices& choices) {
  const std::string name = option + " " + key;
  if (key == "migrate") {
    choices.migrating = read_migrating(name, text);
  } else if (key == "restart") {
    choices.restart = read_time_option(name, text, kLongestRestart);
  } else {
    return false;
  }
  return true;
}

void require_restart_time(const std::string& option, const ReplanChoices& choices) {
  const bool restarts = choices.migrating == Migrating::Restart;
  if (restarts == (choices.restart > Seconds(0))) return;
  throw InputError(
      restarts ? "migrate=restart says nothing of the time that a restart takes"
               : "restart is the time of a restart, and migrate is " + std::string(to_string(choices.migrating)),
      {"", 0, 0, option}, "such as migrate=restart,restart=30s");
}

/// The name before the first `,` behind which a key follows: the path of an external planner may contain commas.
std::size_t end_of_name(const std::string& text) {
  for (std::size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',', comma + 1)) {
    const std::string_view rest = std::string_view(text).substr(comma + 1);
    if (!is_external(text) || rest.substr(0, rest.find(',')).find('=') != std::string_view::npos) return comma;
  }
  return text.size();
}

bool has_option(const PlannerInfo& planner, const std::string& name) {
  return std::ranges::find(planner.options, name, &OptionInfo::name) != planner.options.end();
}

/// The number of replicas that every stage has; none if they differ.
std::optional<std::size_t> replicas_of_each(const Plan& plan) {
  const std::size_t count = plan.stages.front().replicas.size();
  const auto has_as_many = [&](const Stage& stage) { return stage.replicas.size() == count; };
  return std::ranges::all_of(plan.stages, has_as_many) ? std::optional(count) : std::nullopt;
}

/// The options that the user gives, and the number of stages and of replicas of the plan that runs.
Options options_for(const ReplanChoices& choices, const Plan& running) {
  const PlannerInfo& planner = *choices.planner;
  GivenOptions given;
  const std::optional<std::size_t> replicas = replicas_of_each(running);
  if (has_option(planner, "stages")) given.emplace_back("stages", std::to_string(running.stages.size()));
  if (has_option(planner, "replicas") && replicas) given.emplace_back("replicas", std::to_string(*replicas));
  given.insert(given.end(), choices.options.begin(), choices.options.end());
  return parse_options(planner, given);
}

/// What an iteration or a microbatch takes under a plan, and whether it fits in memory.
struct Judged {
  Seconds time;
  bool fits = true;
};

Judged judge(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program) {
  const Report report = program.synchronous ? evaluate_program(graph, platform, program)
                                            : evaluate_until_converged(graph, platform, program);
  return {program.synchronous ? report.iterations.back() : *report.period, !report.out_of_memory()};
}

bool has_same_stages(const Plan& a, const Plan& b) { return a.stages == b.stages && a.pattern == b.pattern; }

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
  std::string text;
  for (std::size_t i = 0; i < std::min(parts.size(), kReasonsToTell); ++i) text += (i == 0 ? "" : ", ") + parts[i];
  if (parts.size() > kReasonsToTell) text += fmt::format(" and {} more", parts.size() - kReasonsToTell);
  return text;
}

std::string joined(const std::string& what, const std::string& so) { return what.empty() ? so : what + "; " + so; }

/// A planner as a re-planner.
class PlanAgain {
 public:
  PlanAgain(const Platform& platform, ReplanChoices choices) : platform_(platform), choices_(std::move(choices)) {}

  ReplanAnswer operator()(const Observation& observation, const RunPosition& position) {
    const Platform seen = as_observed(platform_, observation);
    std::string what = seen_text(platform_, seen);
    if (what.empty() && position.cause != ReplanQuestion::Cause::Model) what = "nothing has changed";
    if (position.cause == ReplanQuestion::Cause::Window) {
      if (std::string waits = why_to_wait(observation, position.plan); !waits.empty()) {
        return {.reason = joined(what, waits)};
      }
    }
    uneven_ = 0;
    const PlanRequest request = request_for(seen, position);
    PlanResult result = choices_.planner->plan(request);
    if (const auto* none = std::get_if<Infeasible>(&result))
      return {.reason = joined(what, "no plan: " + none->reason)};
    auto& planned = std::get<Planned>(result);
    if (!choices_.planner->orders_turns) planned = with_ordered_turns(request, std::move(planned));
    return weigh(seen, position, std::move(planned.plan), what);
  }

 private:
  [[nodiscard]] PlanRequest request_for(const Platform& seen, const RunPosition& position) const {
    const Plan& running = position.plan;
    const bool asynchronous = is_asynchronous(running.schedule);
    return {.graph = position.graph,
            .platform = seen,
            .schedule = running.schedule,
            .microbatches = asynchronous ? position.microbatches : running.microbatches,
            .training = running.training,
            .options = options_for(choices_, running),
            .samples_per_update = std::nullopt,
            .running = &running};
  }

  [[nodiscard]] ReplanAnswer weigh(const Platform& seen, const RunPosition& position, Plan plan,
                                   const std::string& what) const {
    const Plan& running = position.plan;
    plan.rounds_per_update = running.rounds_per_update;
    if (has_same_stages(plan, running)) return {.reason = joined(what, "the planner keeps the plan")};
    const ScheduleProgram program = require_schedule(position.graph, seen, plan);
    require_sound(position.graph, seen, program);
    const Judged now = judge(position.graph, seen, require_schedule(position.graph, seen, running));
    const Judged then = judge(position.graph, seen, program);
    ReplanAnswer answer{.reason = what, .keeping = now.time, .changing = then.time};
    const bool begins_model = position.cause == ReplanQuestion::Cause::Model;
    const Cost cost = begins_model ? Cost() : cost_of(seen, position, plan, now.time, then.time);
    if (!begins_model) answer.stall = cost.stall;
    if (std::string why_not = why_to_stay(position, now, then, answer.stall); !why_not.empty()) {
      answer.reason = joined(what, why_not);
      return answer;
    }
    const std::int64_t first = begins_model ? position.earliest : first_behind_latency(position, now.time);
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
  [[nodiscard]] Cost cost_of(const Platform& seen, const RunPosition& position, const Plan& plan, Seconds now,
                             Seconds then) const {
    const Cost drained{switch_stall(position.graph, seen, position.plan, plan, then) + choices_.restart};
    if (choices_.migrating != Migrating::Live) return drained;
    const ScheduleProgram running = require_schedule(position.graph, seen, position.plan);
    const std::optional<Seconds> live = live_stall(position.graph, seen, running, plan, now);
    return live && *live <= drained.stall ? Cost{*live, false} : drained;
  }

  /// Why the planner is not asked after a window; empty if it is.
  [[nodiscard]] std::string why_to_wait(const Observation& observation, const Plan& plan) {
    const ReplanPolicy& policy = choices_.policy;
    if (policy.imbalance <= 0.0 && policy.patience <= 1) return {};
    const double imbalance = observed_imbalance(observation, plan).value_or(0.0);
    if (imbalance <= policy.imbalance) {
      uneven_ = 0;
      return fmt::format("the slowest stage is {:.1f} % above the mean", 100.0 * imbalance);
    }
    if (++uneven_ >= policy.patience) return {};
    return fmt::format("the slowest stage is {:.1f} % above the mean, for {} of {} windows", 100.0 * imbalance, uneven_,
                       policy.patience);
  }

  /// Why the plan that runs stays; empty if the other one is taken.
  [[nodiscard]] std::string why_to_stay(const RunPosition& position, const Judged& now, const Judged& then,
                                        const std::optional<Seconds>& stall) const {
    const ReplanPolicy& policy = choices_.policy;
    if (!then.fits) return "the other plan does not fit in memory";
    if (!now.fits) return {};
    const Seconds saved = now.time - then.time;
    if (saved <= Seconds(0)) return "the other plan is not faster";
    if (saved <= now.time * policy.gain)
      return fmt::format("the other plan saves {:.1f} %", 100.0 * (saved / now.time));
    const std::int64_t each = is_asynchronous(position.plan.schedule) ? 1 : position.plan.microbatches;
    const std::int64_t horizon = std::min(policy.horizon, position.end - position.earliest);
    const Seconds in_all = saved * (static_cast<double>(horizon) / static_cast<double>(each));
    if (!stall || in_all > *stall) return {};
    return fmt::format("the other plan saves {} in {} microbatches, and the switch costs {}",
                       format_human_seconds(in_all), horizon, format_human_seconds(*stall));
  }

  /// The first microbatch that the answer reaches in time, if the plan that runs takes that time.
  [[nodiscard]] std::int64_t first_behind_latency(const RunPosition& position, Seconds time) const {
    const std::int64_t each = is_asynchronous(position.plan.schedule) ? 1 : position.plan.microbatches;
    const double passed = time > Seconds(0) ? choices_.policy.latency / time * static_cast<double>(each) : 0.0;
    const double wholes = std::ceil(passed / static_cast<double>(position.whole));
    const auto most = static_cast<double>(position.microbatches);
    return position.earliest + static_cast<std::int64_t>(std::min(wholes * static_cast<double>(position.whole), most));
  }

  const Platform& platform_;
  ReplanChoices choices_;
  std::int64_t uneven_ = 0;  ///< windows in a row
};

}  // namespace

std::optional<ReplanChoices> read_replan_option(const std::string& option, const std::string& text,
                                                const ExternalCalls& calls, const std::string& folder) {
  if (text == "none") return std::nullopt;
  const InputPlace place{"", 0, 0, option};
  const std::size_t end = end_of_name(text);
  ReplanChoices choices;
  choices.name = text;
  if (end == 0) throw InputError("expected none or PLANNER[,KEY=VALUE...], found " + quote(text), place);
  choices.planner = resolve_planner(text.substr(0, end), calls, folder);
  std::vector<std::string> items;
  if (end < text.size()) items = read_list_option(option, text.substr(end + 1));
  bool has_horizon = false;
  if (choices.planner->name == "vpipe") {
    choices.policy = {.imbalance = kVpipeImbalance, .patience = kVpipePatience};
    choices.migrating = Migrating::Live;
  }
  for (const auto& [key, value] : read_assignments(option, items)) {
    if (key == "window") {
      choices.window = read_window(option, value);
    } else if (!read_migration(option, key, value, choices) && !read_policy(option, key, value, choices.policy)) {
      choices.options.emplace_back(key, value);
    }
    has_horizon |= key == "horizon";
  }
  require_restart_time(option, choices);
  if (!has_horizon) choices.policy.horizon = std::min(kWindowsToPay * choices.window, run_limits::kMostMicrobatches);
  static_cast<void>(parse_options(*choices.planner, choices.options));  // refuses what is wrong with them
  return choices;
}

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
          .restart = choices.restart};
}

}  // namespace stagecraft
