#include "experiments/measured/step_network.hpp"

#include "experiments/run/named_model.hpp"
#include "sim/base/text.hpp"
#include "sim/io/architecture_file.hpp"
#include "sim/io/hf_config.hpp"
#include "sim/io/yaml_node.hpp"

#include <filesystem>
#include <utility>

namespace stagecraft {
namespace {

void refuse_replaced_sizes(const MeasuredStep& step) {
  if (step.sizes.empty()) return;
  throw InputError("the sizes of " + quote(step.model) + " are fixed", {"", 0, 0, step.sizes.front().first},
                   "an architecture file has sizes that a row may replace");
}

StepNetwork network_of_config(const FileText& file, const MeasuredStep& step) {
  refuse_replaced_sizes(step);
  HfConfig config = parse_hf_config(file.text, file.path, step.sequence);
  StepNetwork network{std::move(config.network), {}};
  for (const auto* texts : {&config.notes, &config.warnings}) {
    for (const std::string& text : *texts) network.remarks.push_back(file.path + ": " + text);
  }
  return network;
}

}  // namespace

FileText network_file(const MeasuredStep& step) {
  const std::string base = std::filesystem::path(step.place.file).parent_path().string();
  ModelSource source = find_model(step.model, {}, base);
  if (is_description(source.file)) return std::move(source.file);
  throw InputError(quote(step.model) + " is no network", {},
                   "the constants of a device change no figures of a model file; give a name from 'stagecraft list "
                   "architectures', an architecture file or a config.json");
}

StepNetwork step_network(const MeasuredStep& step) {
  if (is_network(step.model)) {
    refuse_replaced_sizes(step);
    return {known_network(step.model, {.computed = {.sequence = step.sequence}, .prefix = ""}), {}};
  }
  const FileText file = network_file(step);
  if (is_hf_config(parse_yaml(file.text, file.path))) return network_of_config(file, step);
  if (step.sequence) return {read_architecture_at(file, *step.sequence, {step.sizes, ""}, {"", 0, 0, "sequence"}), {}};
  std::string hash;
  return {parse_with(file, step.sizes, "", hash, parse_architecture), {}};
}

std::optional<std::vector<std::string>> architecture_keys(const MeasuredStep& step) {
  if (is_network(step.model)) return std::nullopt;
  const FileText file = network_file(step);
  const YamlNode root = parse_yaml(file.text, file.path);
  if (is_hf_config(root)) return std::nullopt;
  std::vector<std::string> keys;
  for (const auto& [key, value] : root.entries()) keys.push_back(key);
  return keys;
}

}  // namespace stagecraft
