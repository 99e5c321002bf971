#include "experiments/commands/command_tree.hpp"

#include "experiments/commands/catalogue.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/measured/device_constants.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/replan_choices.hpp"
#include "planners/registry.hpp"
#include "sim/io/json_schema.hpp"
#include "sim/io/plan_degrees.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/workload/catalogue.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <map>

namespace stagecraft {
namespace {

using Words = std::vector<std::string>;

template <class Items>
Words names_of(const Items& items) {
  Words names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

Words planner_names() {
  Words names;
  for (const PlannerInfo* planner : all_planners()) names.push_back(planner->name);
  return names;
}

Words replan_names() {
  Words names = planner_names();
  names.insert(names.begin(), "none");
  return names;
}

Words schedule_names() {
  Words names;
  for (const ScheduleFamily* schedule : all_families()) names.push_back(schedule->name);
  return names;
}

/// `KEY=`, or all `KEY=VALUE` of an option with few values.
void append_items(Words& items, const OptionInfo& option) {
  Words values = option.choices;
  if (std::holds_alternative<bool>(option.default_value)) values = {"true", "false"};
  if (values.empty()) values.emplace_back();
  for (const std::string& value : values) items.push_back(option.name + "=" + value);
}

Words items_of(const std::vector<OptionInfo>& options) {
  Words items;
  for (const OptionInfo& option : options) append_items(items, option);
  return items;
}

Words keys_of(const Words& names) {
  Words items;
  for (const std::string& name : names) items.push_back(name + "=");
  return items;
}

std::map<std::string, Words> schedule_items() {
  std::map<std::string, Words> items;
  for (const ScheduleFamily* schedule : all_families()) items[schedule->name] = items_of(schedule->parameters);
  return items;
}

/// Of a list of schedules: another one may follow.
std::map<std::string, Words> schedule_list_items() {
  std::map<std::string, Words> items = schedule_items();
  const Words names = schedule_names();
  for (auto& [schedule, words] : items) words.insert(words.end(), names.begin(), names.end());
  return items;
}

std::map<std::string, Words> replan_items() {
  std::map<std::string, Words> items{{"none", {}}};
  for (const PlannerInfo* planner : all_planners()) {
    Words& of_planner = items[planner->name] = keys_of(replan_keys());
    for (const std::string& item : items_of(planner->options)) of_planner.push_back(item);
  }
  return items;
}

Words described_names() {
  Words names = names_of(shipped_files("traces"));
  for (const ShippedFile& file : shipped_files("platforms")) names.push_back(file.name);
  for (const WorkloadInfo& device : known_devices()) names.push_back(device.name);
  return names;
}

struct Values {
  std::string verb;      ///< empty: every verb
  std::string argument;  ///< the first name of the option or positional argument
  std::function<Words()> words;
};

/// The values that completion can offer for an argument. The first row that fits is used, so the rows of one verb come
/// before those of every verb.
const std::vector<Values>& known_values() {
  static const std::vector<Values> kValues = {
      {"model", "--device", [] { return names_of(known_devices()); }},
      {"calibrate", "--device", [] { return names_of(known_devices()); }},
      {"validate", "--device", [] { return names_of(known_devices()); }},
      {"calibrate", "--fit", [] { return names_of(all_device_constants()); }},
      {"model", "NAME", [] { return names_of(known_architectures()); }},
      {"model", "--granularity", [] { return Words{"operator", "layer", "residual", "block"}; }},
      {"export", "--to", [] { return Words{"perfetto", "chakra"}; }},
      {"import", "FORMAT", [] { return Words{"pipedream", "pipedream-plan", "vpipe"}; }},
      {"import", "--device", [] { return names_of(known_devices()); }},
      {"make-events", "KIND", [] { return Words{"stragglers", "memory", "failures", "bandwidth", "search"}; }},
      {"make-events", "--of", [] { return Words{"devices", "nodes"}; }},
      {"help", "COMMAND", verb_names},
      {"schema", "FORMAT", [] { return schema_names(); }},
      {"list", "KIND", [] { return catalogue_kinds(); }},
      {"completion", "SHELL", [] { return Words{"bash", "zsh", "fish"}; }},
      {"describe", "FILE", described_names},
      {"run", "STUDY", [] { return names_of(shipped_files("experiments/studies")); }},
      {"run", "--executor", [] { return Words{"local", "slurm"}; }},
      {"", "--planner", planner_names},
      {"", "--planners", planner_names},
      {"", "--replan", replan_names},
      {"", "--schedule", schedule_names},
      {"", "--schedules", schedule_names},
      {"", "--training", [] { return keys_of(training_option_keys()); }},
      {"", "--memory", memory_policies},
      {"", "--tensor", [] { return Words{"1", "2", "4", "8"}; }},
      {"", "--context", [] { return Words{"1", "2", "4", "8"}; }},
      {"", "--context-attention", context_attention_names},
      {"", "--expert", [] { return Words{"1", "2", "4", "8"}; }},
      {"", "--zero", [] { return Words{"0", "1", "2", "3"}; }},
      {"", "--sequence-parallel", [] { return Words{"true", "false"}; }},
      {"", "--engine", [] { return Words{"replay", "evaluate"}; }},
      {"", "--network", [] { return Words{"platform", "analytic"}; }},
      {"", "--model", [] { return names_of(shipped_files("traces")); }},
      {"", "--platform", [] { return names_of(shipped_files("platforms")); }},
  };
  return kValues;
}

Words values_of(const std::string& verb, const std::string& argument) {
  for (const Values& row : known_values()) {
    if (row.argument == argument && (row.verb.empty() || row.verb == verb)) return row.words();
  }
  return {};
}

ArgumentInfo argument_info(const CLI::Option& option, const std::string& verb) {
  ArgumentInfo info;
  info.positional = option.get_positional();
  if (info.positional) info.names.push_back(option.get_name(true));
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  info.description = option.get_description();
  info.default_value = option.get_default_str();
  info.takes_value = option.get_items_expected_max() > 0;
  info.required = option.get_required();
  info.repeated = option.get_expected_max() > 1;
  if (info.takes_value) info.values = values_of(verb, info.names.front());
  const std::string& name = info.names.front();
  if (name == "--schedule") info.later = schedule_items();
  if (name == "--schedules") info.later = schedule_list_items();
  if (name == "--replan") info.later = replan_items();
  info.takes_list = name == "--planners" || name == "--training" || name == "--fit" || !info.later.empty();
  return info;
}

std::vector<ArgumentInfo> arguments_of(const CLI::App& app, const std::string& verb) {
  std::vector<ArgumentInfo> arguments;
  for (const CLI::Option* option : app.get_options()) arguments.push_back(argument_info(*option, verb));
  return arguments;
}

}  // namespace

CommandTree command_tree(const CLI::App& command) {
  const CLI::App* root = &command;
  while (root->get_parent() != nullptr) root = root->get_parent();
  CommandTree tree{root->get_name(), root->get_description(), arguments_of(*root, ""), {}};
  for (const CLI::App* verb : root->get_subcommands([](const CLI::App*) { return true; })) {
    tree.verbs.push_back({verb->get_name(), verb->get_description(), arguments_of(*verb, verb->get_name())});
  }
  return tree;
}

}  // namespace stagecraft
