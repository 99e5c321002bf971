#include "sim/io/plan_computed.hpp"

#include "sim/base/text.hpp"
#include "sim/io/model_computed.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/workload/catalogue.hpp"

#include <string>
#include <vector>

namespace stagecraft {
namespace {

[[noreturn]] void refuse_unknown(const YamlNode& node, const std::string& what,
                                 const std::vector<WorkloadInfo>& known) {
  std::vector<std::string> names;
  for (const WorkloadInfo& each : known) names.push_back(each.name);
  node.fail("the catalogue has no " + what + " " + quote(node.text()), suggest_name(node.text(), names));
}

std::string read_network(const YamlNode& node) {
  std::string name = read_name(node);
  if (!find_architecture(name)) refuse_unknown(node, "network", known_architectures());
  return name;
}

}  // namespace

ComputedChoice read_computed_choice(const YamlNode& node) {
  node.allow_keys({"architecture", "device", "sequence", "precision", "granularity", "selective_recompute"});
  ComputedChoice choice;
  if (const auto architecture = node.find("architecture")) {
    choice.architecture = read_network(*architecture);
    static_cast<void>(node.at("device"));
  }
  if (const auto device = node.find("device")) choice.device = read_name(*device);
  if (const auto sequence = node.find("sequence")) choice.sequence = read_sequence(*sequence);
  if (const auto precision = node.find("precision")) choice.precision = read_precision(*precision);
  if (const auto granularity = node.find("granularity")) choice.granularity = read_granularity(*granularity);
  if (const auto selective = node.find("selective_recompute")) choice.selective_recompute = read_bool(*selective);
  return choice;
}

Detail::Record computed_choice_record(const ComputedChoice& choice) {
  Detail::Record record;
  if (!choice.architecture.empty()) record.emplace_back("architecture", choice.architecture);
  if (!choice.device.empty()) record.emplace_back("device", choice.device);
  if (choice.sequence) record.emplace_back("sequence", *choice.sequence);
  if (choice.precision) record.emplace_back("precision", *choice.precision);
  if (choice.granularity) record.emplace_back("granularity", *choice.granularity);
  if (choice.selective_recompute) record.emplace_back("selective_recompute", *choice.selective_recompute);
  return record;
}

}  // namespace stagecraft
