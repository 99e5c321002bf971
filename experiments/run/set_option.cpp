#include "experiments/run/set_option.hpp"

#include "experiments/run/external_planner.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/set_items.hpp"
#include "planners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::string_view kModelPath = "model.";
constexpr std::string_view kPlatformPath = "platform.";
constexpr std::string_view kMemory = "memory";

[[noreturn]] void refuse_item(const SetItem& item, const std::string& message, const std::string& hint = {}) {
  throw InputError(message, {"", 0, 0, item.option()}, hint);
}

bool is_path_of(std::string_view prefix, std::string_view name) {
  return name.starts_with(prefix) && name.size() > prefix.size();
}

bool is_registered(std::string_view name) {
  return std::ranges::any_of(all_planners(), [&](const PlannerInfo* each) { return each->name == name; });
}

/// The used planner with whose name and a dot the text begins; of several the one with the longest name. Null: none.
/// The name of an external planner may contain dots and `=`.
const PlannerInfo* named_planner(std::string_view text, const UsedPlanners& planners) {
  const PlannerInfo* best = nullptr;
  for (const auto& each : planners) {
    if (!text.starts_with(each->name + ".")) continue;
    if (best == nullptr || each->name.size() > best->name.size()) best = each.get();
  }
  return best;
}

std::vector<std::string> keys_of(const PlannerInfo& planner) {
  std::vector<std::string> keys;
  for (const OptionInfo& option : planner.options) keys.push_back(option.name);
  if (!planner.takes_any_option) keys.emplace_back(kMemory);
  return keys;
}

/// Whether the short form `KEY=VALUE` reaches the planner. There is no telling which options an external planner has,
/// so it is reached only if there is no other one.
bool has_key(const PlannerInfo& planner, std::string_view key, const UsedPlanners& planners) {
  if (planner.takes_any_option) return planners.size() == 1;
  return std::ranges::any_of(keys_of(planner), [&](const std::string& each) { return each == key; });
}

bool is_set_name(std::string_view name, const UsedPlanners& planners) {
  if (is_path_of(kModelPath, name) || is_path_of(kPlatformPath, name)) return true;
  const std::size_t dot = planner_end(name);
  if (dot != std::string_view::npos) {
    const std::string_view planner = name.substr(0, dot);
    return dot + 1 < name.size() && (is_registered(planner) || is_external(std::string(planner)));
  }
  return !name.empty() &&
         std::ranges::any_of(planners, [&](const auto& each) { return has_key(*each, name, planners); });
}

std::size_t set_name_length(std::string_view text, const UsedPlanners& planners) {
  if (const PlannerInfo* planner = named_planner(text, planners)) {
    const std::size_t begin = planner->name.size() + 1;
    const auto is_key = [](std::string_view key) { return !key.empty(); };
    if (const std::size_t length = length_before_equals(text.substr(begin), is_key)) return begin + length;
  }
  return length_before_equals(text, [&](std::string_view name) { return is_set_name(name, planners); });
}

/// A value in quotes without them; any other value as it is.
std::string unquoted(const SetItem& item) {
  const char first = item.value.front();
  if (first != '"' && first != '\'') return item.value;
  try {
    return parse_yaml(item.value, "--set").text();
  } catch (const InputError& error) {
    refuse_item(item, error.message(), error.hint());
  }
}

/// What `read_set_option` has read so far.
struct SetReading {
  const UsedPlanners& planners;
  SetValues values = {};
  std::set<std::string> given = {};  ///< whole names

  void note(const SetItem& item, const std::string& name) {
    if (given.insert(name).second) return;
    refuse_item(item, (name == item.name ? "" : quote(name) + " ") + "is given twice");
  }
};

void take_path(const SetItem& item, std::string_view prefix, FileValues& into) {
  try {
    into.emplace_back(item.name.substr(prefix.size()), read_detail(parse_yaml(item.value, "--set")));
  } catch (const InputError& error) {
    refuse_item(item, error.message(), error.hint());
  }
}

/// The hint for a value that is refused: what comes after its comma may be a name that was mistyped.
std::string suggest_split(const SetItem& item, const InputError& error) {
  const std::size_t comma = item.value.find(',');
  const std::size_t equals = item.value.find('=', std::min(comma, item.value.size()));
  if (!error.hint().empty() || comma == std::string::npos || equals == std::string::npos) return error.hint();
  return quote(item.value.substr(comma + 1, equals - comma - 1)) + " after the comma is no name that is known here";
}

void take_key(const SetItem& item, const PlannerInfo& planner, const std::string& key, SetReading& reading) {
  reading.note(item, planner.name + "." + key);
  PlannerOption option{planner.name, key, unquoted(item)};
  try {
    if (key == kMemory && !planner.takes_any_option) {
      static_cast<void>(read_memory_option(item.option(), option.value));
    } else {
      static_cast<void>(parse_options(planner, {{key, option.value}}));
    }
  } catch (const InputError& error) {
    refuse_item(item, error.message(), suggest_split(item, error));
  }
  reading.values.options.push_back(std::move(option));
}

/// Takes `KEY=VALUE` for all planners that have this option.
void take_short_name(const SetItem& item, SetReading& reading) {
  const UsedPlanners& planners = reading.planners;
  if (planners.empty()) refuse_item(item, "expected platform.PATH or model.PATH, found " + quote(item.name));
  if (planners.size() == 1) {
    take_key(item, *planners.front(), item.name, reading);
    return;
  }
  bool is_taken = false;
  std::set<std::string> known;
  for (const auto& planner : planners) {
    for (const std::string& key : keys_of(*planner)) known.insert(key);
    if (!has_key(*planner, item.name, planners)) continue;
    take_key(item, *planner, item.name, reading);
    is_taken = true;
  }
  if (is_taken) return;
  refuse_item(item, "no planner that is used has an option " + quote(item.name),
              suggest_name(item.name, {known.begin(), known.end()}));
}

/// Refuses `PLANNER.KEY` of a planner that is not used, and names that mean nothing.
[[noreturn]] void refuse_name(const SetItem& item, const UsedPlanners& planners) {
  const std::size_t dot = planner_end(item.name);
  const std::string first = item.name.substr(0, dot);
  if (first.empty() || dot + 1 == item.name.size()) {
    refuse_item(item, "expected a name such as PLANNER.KEY or platform.PATH, found " + quote(item.name));
  }
  if (is_registered(first) || is_external(first)) {
    std::string used;
    for (const auto& planner : planners) used += (used.empty() ? "used: " : ", ") + planner->name;
    refuse_item(item, "the planner " + quote(first) + " is not used here",
                used.empty() ? "this command takes platform.PATH and model.PATH" : used);
  }
  const std::string old_name = suggest_option_name(item.name);
  std::vector<std::string> known{"platform", "model"};
  for (const PlannerInfo* planner : all_planners()) known.push_back(planner->name);
  refuse_item(item, "expected a planner, platform or model, found " + quote(first),
              old_name.empty() ? suggest_name(first, known) : old_name);
}

void take_set_item(const SetItem& item, SetReading& reading) {
  for (const auto& [prefix, into] : {std::pair{kModelPath, &reading.values.overrides.model},
                                     std::pair{kPlatformPath, &reading.values.overrides.platform}}) {
    if (!is_path_of(prefix, item.name)) continue;
    reading.note(item, item.name);
    take_path(item, prefix, *into);
    return;
  }
  const PlannerInfo* planner = named_planner(item.name, reading.planners);
  if (planner != nullptr && planner->name.size() + 1 < item.name.size()) {
    take_key(item, *planner, item.name.substr(planner->name.size() + 1), reading);
    return;
  }
  if (planner_end(item.name) != std::string::npos) refuse_name(item, reading.planners);
  take_short_name(item, reading);
}

}  // namespace

SetValues read_set_option(const std::vector<std::string>& texts, const UsedPlanners& planners) {
  SetReading reading{planners};
  const auto name_length = [&](std::string_view text) { return set_name_length(text, planners); };
  for (const SetItem& item : set_items(texts, name_length)) take_set_item(item, reading);
  return std::move(reading.values);
}

PlanningChoices choices_of(const PlannerInfo& planner, PlanningChoices choices, const SetValues& set) {
  for (const auto& [name, key, value] : set.options) {
    if (name != planner.name) continue;
    if (key == kMemory && !planner.takes_any_option) {
      choices.memory = read_memory_option("--set", value);
    } else {
      choices.options.emplace_back(key, value);
    }
  }
  return choices;
}

std::size_t planner_end(std::string_view name) {
  return is_external(std::string(name)) ? name.rfind('.') : name.find('.');
}

std::string suggest_option_name(const std::string& name) {
  const std::string old_prefix = "options.";
  if (!name.starts_with(old_prefix)) return {};
  const std::string rest = name.substr(old_prefix.size());
  return "an option of a planner is written " + (rest.empty() ? "PLANNER.KEY" : rest);
}

}  // namespace stagecraft
