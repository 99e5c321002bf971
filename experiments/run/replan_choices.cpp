#include "experiments/run/replan_choices.hpp"

#include "experiments/run/external_planner.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/option_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace stagecraft {
namespace {

constexpr double kVpipeImbalance = 0.05;
constexpr std::int64_t kVpipePatience = 2;
constexpr std::int64_t kWindowsToPay = 10;  ///< in which a switch has to pay off
constexpr double kMostImbalance = 1e6;
constexpr std::int64_t kMostPatience = 1'000'000;
constexpr Seconds kLongestLatency(1e6);
constexpr Seconds kLongestRestart(1e6);
constexpr Seconds kLongestSave(1e6);
constexpr Seconds kLongestWait(1e9);  ///< for a device that is down

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

Seconds read_time_or_zero(const std::string& option, const std::string& text, Seconds most) {
  const Parsed<Seconds> time = parse_seconds(text);
  if (text == "0" || (time && *time.value == Seconds(0))) return Seconds(0);
  return read_time_option(option, text, most);
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
    policy.latency = read_time_or_zero(name, text, kLongestLatency);
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

/// Reads how a run goes over to another plan; false for another key.
bool read_migration(const std::string& option, const std::string& key, const std::string& text,
                    ReplanChoices& choices) {
  const std::string name = option + " " + key;
  if (key == "migrate") {
    choices.migrating = read_migrating(name, text);
  } else if (key == "restart") {
    choices.restart = read_time_or_zero(name, text, kLongestRestart);
  } else if (key == "leave") {
    choices.leave = read_time_or_zero(name, text, kLongestWait);
  } else if (key == "checkpoint") {
    choices.checkpoint = read_count_option(name, text, 1, run_limits::kMostMicrobatches);
  } else if (key == "save") {
    choices.save = read_time_or_zero(name, text, kLongestSave);
  } else {
    return false;
  }
  return true;
}

/// Refuses times of what does not take place, unless they are zero.
void require_times_in_place(const std::string& option, const ReplanChoices& choices) {
  const bool restarts = choices.migrating == Migrating::Restart;
  const InputPlace place{"", 0, 0, option};
  if (restarts && !choices.restart) {
    throw InputError("migrate=restart says nothing of the time that a restart takes", place,
                     "such as migrate=restart,restart=30s");
  }
  if (choices.checkpoint) return;
  if (!restarts && choices.restart.value_or(Seconds(0)) > Seconds(0)) {
    throw InputError("restart is the time of a restart, migrate is " + std::string(to_string(choices.migrating)) +
                         ", and there is no checkpoint",
                     place, "such as migrate=restart,restart=30s, or checkpoint=1000,restart=30s");
  }
  if (choices.save > Seconds(0)) {
    throw InputError("save is the time that a checkpoint takes, and there is no checkpoint", place,
                     "such as checkpoint=1000,save=2s");
  }
}

void require_option(const std::string& option, const PlannerInfo& planner, const std::string& key) {
  if (planner.takes_any_option || std::ranges::count(planner.options, key, &OptionInfo::name) > 0) return;
  std::vector<std::string> known = replan_keys();
  for (const OptionInfo& each : planner.options) known.push_back(each.name);
  throw InputError("neither re-planning nor planner " + quote(planner.name) + " has an option " + quote(key),
                   {"", 0, 0, option}, suggest_name(key, known));
}

/// Refuses what is wrong with the planner's options, and those with which it decides by replays.
void require_no_judge(const std::string& option, const ReplanChoices& choices) {
  const PlannerInfo& planner = *choices.planner;
  if (!wants_judge(planner, parse_options(planner, choices.options))) return;
  const bool is_by_option = !wants_judge(planner, parse_options(planner, {}));
  throw InputError("planner " + quote(planner.name) + (is_by_option ? " with these options" : "") +
                       " decides by replays, which a run that changes its plan cannot make",
                   {"", 0, 0, option},
                   is_by_option ? "re-plan with its other options" : "name another planner, such as vpipe");
}

/// The name before the first `,` behind which a key follows: the path of an external planner may contain commas.
std::size_t end_of_name(const std::string& text) {
  for (std::size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',', comma + 1)) {
    const std::string_view rest = std::string_view(text).substr(comma + 1);
    if (!is_external(text) || rest.substr(0, rest.find(',')).find('=') != std::string_view::npos) return comma;
  }
  return text.size();
}

}  // namespace

const std::vector<std::string>& replan_keys() {
  static const std::vector<std::string> kKeys{"window",  "imbalance", "patience", "gain",       "horizon", "latency",
                                              "migrate", "restart",   "leave",    "checkpoint", "save",    "memory"};
  return kKeys;
}

std::string planner_of_replan(const std::string& text) { return text.substr(0, end_of_name(text)); }

std::optional<ReplanChoices> read_replan_option(const std::string& option, const std::string& text,
                                                const PlannerOfName& planner_of) {
  if (text == "none") return std::nullopt;
  const InputPlace place{"", 0, 0, option};
  const std::size_t end = end_of_name(text);
  ReplanChoices choices;
  choices.name = text;
  if (end == 0) throw InputError("expected none or PLANNER[,KEY=VALUE...], found " + quote(text), place);
  const std::string name = text.substr(0, end);
  if (name == "none") {
    throw InputError("none keeps the plan and takes no options, found " + quote(text.substr(end + 1)), place,
                     "in place of none, name the planner that is asked for other plans");
  }
  choices.planner = planner_of(name);
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
    } else if (key == "memory") {
      choices.memory = read_memory_option(option + " memory", value);
    } else if (!read_migration(option, key, value, choices) && !read_policy(option, key, value, choices.policy)) {
      require_option(option, *choices.planner, key);
      choices.options.emplace_back(key, value);
    }
    has_horizon |= key == "horizon";
  }
  require_times_in_place(option, choices);
  if (!has_horizon) choices.policy.horizon = std::min(kWindowsToPay * choices.window, run_limits::kMostMicrobatches);
  require_no_judge(option, choices);
  return choices;
}

}  // namespace stagecraft
