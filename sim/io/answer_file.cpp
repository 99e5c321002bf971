#include "sim/io/answer_file.hpp"

#include "sim/base/text.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 53U;

DeviceId read_device_name(const YamlNode& node, const Platform& platform) {
  const std::string name = read_name(node);
  const auto found = std::ranges::find(platform.devices, name, &Device::name);
  if (found != platform.devices.end()) {
    return DeviceId(static_cast<std::size_t>(found - platform.devices.begin()));
  }
  std::vector<std::string> known;
  for (const Device& device : platform.devices) known.push_back(device.name);
  node.fail("the platform " + quote(platform.spec.name) + " has no device " + quote(name), suggest_name(name, known));
}

/// A value of `null` counts as missing.
std::optional<YamlNode> find_value(const YamlNode& node, std::string_view key) {
  auto found = node.find(key);
  return found && found->kind() != YamlKind::Nothing ? found : std::nullopt;
}

PlannerRefusal read_refusal(const YamlNode& node, const Platform& platform) {
  node.allow_keys({"reason", "device", "stage", "excess_bytes", "smallest_memory_bytes", "hint"});
  PlannerRefusal refusal;
  refusal.reason = read_name(node.at("reason"));
  if (const auto device = find_value(node, "device")) refusal.device = read_device_name(*device, platform);
  if (const auto stage = find_value(node, "stage")) {
    refusal.stage = static_cast<std::uint32_t>(read_count(*stage, 0, kMostStages));
  }
  if (const auto excess = find_value(node, "excess_bytes")) refusal.excess = Bytes(read_count(*excess, 0, kMostBytes));
  if (const auto memory = find_value(node, "smallest_memory_bytes")) {
    refusal.smallest_memory = Bytes(read_count(*memory, 0, kMostBytes));
  }
  if (const auto hint = find_value(node, "hint")) refusal.hint = read_name(*hint);
  return refusal;
}

Detail::Record read_details(const YamlNode& node) {
  static_cast<void>(node.entries());  // refuses anything but a map
  return std::get<Detail::Record>(read_detail(node).value);
}

}  // namespace

std::variant<PlannerAnswer, PlannerRefusal> parse_answer(std::string_view text, const std::string& file_name,
                                                         const LayerGraph& graph, const Platform& platform) {
  check_text(text, file_name);
  const YamlNode root = parse_yaml(text, file_name);
  if (const auto infeasible = root.find("infeasible")) {
    root.allow_keys({"infeasible"});
    return read_refusal(*infeasible, platform);
  }
  const auto inner = root.find("plan");
  if (inner) root.allow_keys({"plan", "details"});
  const YamlNode& plan = inner ? *inner : root;
  PlannerAnswer answer{read_plan_node(plan, graph, platform), plan.find("training").has_value(), {}};
  const auto details = inner ? find_value(root, "details") : std::nullopt;
  if (details) answer.details = read_details(*details);
  return answer;
}

}  // namespace stagecraft
