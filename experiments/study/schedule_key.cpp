#include "experiments/study/schedule_key.hpp"

#include "experiments/run/option_text.hpp"
#include "experiments/run/set_option.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const ScheduleFamily* schedule : all_families()) {
    if (schedule->name != "literal") names.push_back(schedule->name);
  }
  return names;
}

void check_parameter(const YamlNode& node, const ScheduleFamily& schedule, const std::string& name,
                     const std::string& value) {
  const ScheduleRefusals refusals = parameter_refusals(schedule, {{name, value}});
  if (!refusals.empty()) node.fail(refusals.front().message, refusals.front().hint);
}

ScheduleChoice read_schedule_text(const YamlNode& node) {
  try {
    return read_schedule_option("schedule", node.text());
  } catch (const InputError& error) {
    node.fail(error.message(), error.hint());
  }
}

}  // namespace

void read_schedule(const YamlNode& node, Keys& into) {
  const bool is_map = node.kind() == YamlKind::Map;
  ScheduleChoice choice = is_map ? ScheduleChoice{read_name(node.at("name")), {}} : read_schedule_text(node);
  const std::vector<std::string> known = schedule_names();
  if (std::ranges::find(known, choice.name) == known.end()) {
    node.fail("unknown value " + quote(choice.name), suggest_name(choice.name, known));
  }
  const ScheduleFamily& schedule = *find_family(choice.name);
  for (const auto& [key, value] : choice.parameters) {
    check_parameter(node, schedule, key, std::get<std::string>(value.value));
  }
  if (is_map) {
    for (const auto& [key, value] : node.entries()) {
      if (key == "name") continue;
      check_parameter(value, schedule, key, value.text());
      choice.parameters.emplace_back(key, value.text());
    }
  }
  std::ranges::stable_sort(choice.parameters, {}, [&](const auto& each) {
    return std::ranges::find(schedule.parameters, each.first, &OptionInfo::name) - schedule.parameters.begin();
  });
  set_key(into, "schedule", schedule_text(choice));
}

}  // namespace stagecraft
