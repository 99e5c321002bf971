#include "experiments/commands/plan_inputs.hpp"

#include "experiments/commands/add_option.hpp"
#include "sim/io/text_file.hpp"

#include <utility>

namespace stagecraft {

void add_plan_input_options(CLI::App& command, PlanInputOptions& options, const std::string& when) {
  add_option(
      command, "--model", options.given.model,
      when +
          "its model: a model file, an architecture file or a config.json, or the name of a shipped file or of a "
          "network; default: the one that the plan names");
  add_option(command, "--platform", options.given.platform,
             when + "its platform: a file, or the name of a shipped one; default: the one that the plan names");
  add_speed_option(command, options.speeds, when);
  add_set_option(command, options.set, SetUse::Files);
}

InputOptions find_inputs(const PlanInputOptions& options, const FileText& plan) {
  FoundInputs found = find_plan_inputs(options.given, plan);
  return {.model = std::move(found.model),
          .platform = {std::move(found.platform), options.speeds},
          .set = options.set,
          .of_plan = std::move(found.choice)};
}

PlanFiles read_plan_files(const std::string& plan, const PlanInputOptions& options) {
  PlanFiles files{{plan, read_text_file(plan)}, {}};
  files.inputs = find_inputs(options, files.plan);
  return files;
}

}  // namespace stagecraft
