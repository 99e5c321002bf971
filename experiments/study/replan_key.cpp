#include "experiments/study/replan_key.hpp"

#include "experiments/run/external_planner.hpp"
#include "experiments/run/replanning.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/yaml_values.hpp"

#include <memory>
#include <string>

namespace stagecraft {
namespace {

/// The program of an external planner is not looked for yet.
std::shared_ptr<const PlannerInfo> known_planner(const std::string& name) {
  if (!is_external(name)) return resolve_planner(name);
  auto planner = std::make_shared<PlannerInfo>();
  planner->name = name;
  planner->takes_any_option = true;
  return planner;
}

}  // namespace

void read_replan(const YamlNode& node, Keys& into) {
  const bool is_map = node.kind() == YamlKind::Map;
  std::string text = is_map ? read_name(node.at("name")) : read_name(node);
  if (is_map) {
    for (const auto& [key, value] : node.entries()) {
      if (key != "name") text += "," + key + "=" + value.text();
    }
  }
  try {
    static_cast<void>(read_replan_option("", text, known_planner));
  } catch (const InputError& error) {
    node.fail(error.message(), error.hint());
  }
  set_key(into, "replan", text);
}

}  // namespace stagecraft
