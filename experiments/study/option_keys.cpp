#include "experiments/study/option_keys.hpp"

#include "experiments/run/external_planner.hpp"
#include "experiments/run/set_option.hpp"
#include "experiments/study/limits.hpp"
#include "planners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>

namespace stagecraft {

std::vector<std::string> planner_names() {
  std::vector<std::string> names;
  for (const PlannerInfo* planner : all_planners()) names.push_back(planner->name);
  return names;
}

void read_planner_option(const std::string& planner, const std::string& option, const YamlNode& node, Keys& into) {
  if (!is_external(planner)) {
    try {
      static_cast<void>(parse_options(find_planner(planner), {{option, node.text()}}));
    } catch (const InputError& error) {
      node.fail(error.message(), error.hint());
    }
  }
  set_key(into, option_prefix(planner) + option, read_detail(node, study_limits::kMostNodes));
}

void read_option_key(const std::string& key, const YamlNode& node, Keys& into) {
  check_option_key(key, node);
  const std::size_t dot = planner_end(key);
  read_planner_option(key.substr(0, dot), key.substr(dot + 1), node, into);
}

void check_option_key(const std::string& key, const YamlNode& node) {
  if (const std::string hint = suggest_option_name(key); !hint.empty()) {
    node.fail("there is no key " + quote(key) + " of a cell", hint);
  }
  const std::size_t dot = planner_end(key);
  const std::string planner = key.substr(0, dot);
  if (dot == 0 || dot + 1 == key.size()) node.fail("expected a key PLANNER.KEY, found " + quote(key));
  if (names_planner(key)) return;
  std::vector<std::string> known = planner_names();
  known.insert(known.end(), kKeyGroups.begin(), kKeyGroups.end());
  node.fail("expected a planner or a group of keys, found " + quote(planner), suggest_name(planner, known));
}

bool names_planner(std::string_view key) {
  const std::string planner(key.substr(0, planner_end(key)));
  const std::vector<std::string> known = planner_names();
  return is_external(planner) || std::ranges::find(known, planner) != known.end();
}

std::string option_text(const Detail& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value.value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value.value)) return format_number(*number);
  return {};
}

}  // namespace stagecraft
