#include "experiments/commands/saved_steps.hpp"

#include "experiments/measured/step_network.hpp"
#include "experiments/measured/step_times.hpp"
#include "experiments/run/named_model.hpp"
#include "experiments/run/written_file.hpp"
#include "sim/base/text.hpp"

#include <vector>

namespace stagecraft {
namespace {

/// What the plan says of its network, so that it is computed as it was here.
ComputedChoice computed_as(const MeasuredStep& step, const DeviceDescription& device) {
  ComputedChoice computed;
  if (is_network(step.model)) computed.architecture = step.model;
  computed.device = device.name;
  computed.sequence = step.sequence;
  computed.precision = to_string(device.precision);
  computed.granularity = "block";
  if (step.training.recompute == RecomputedPart::Attention) computed.selective_recompute = true;
  return computed;
}

/// The name, as of a row, of the network of a step that has sizes of its own.
std::string network_name(const MeasuredStep& step) { return step.name + ".network"; }

/// The option that names the network, which is written to the folder if the step has sizes of its own.
std::string model_option(const MeasuredStep& step, const PlanFolder& plans) {
  if (is_network(step.model)) return "";
  const FileText network = network_file(step);
  if (step.sizes.empty()) return " --model " + shell_word(network.path);
  const std::string file = plans.file_of("", network_name(step));
  write_file_atomically(file, overridden(network, step.sizes, "") + "\n");
  return " --model " + shell_word(file);
}

std::string commands_file(const PlanFolder& plans) { return plans.path() + "/commands.sh"; }

}  // namespace

PlanFolder folder_for_steps(const MeasuredSite& site, const std::string& folder,
                            const std::vector<std::string>& files_read) {
  std::vector<std::string> names;
  std::vector<std::string> networks;
  for (const MeasuredStep& step : site.steps) {
    names.push_back(step.name);
    if (!step.sizes.empty()) networks.push_back(network_name(step));
  }
  PlanFolder plans(folder.starts_with('-') ? "./" + folder : folder, {""}, names, networks);
  refuse_overwriting(commands_file(plans), OutputKind::SavedCommands, files_read);
  for (const std::string& network : networks)
    refuse_overwriting(plans.file_of("", network), OutputKind::ArchitectureFile, files_read);
  return plans;
}

std::string save_steps(const Validation& validation, const Platform& platform, const PlanFolder& plans) {
  const MeasuredSite& site = validation.site;
  std::string list = commands_file(plans);
  const StepTimes times(site.steps, platform, validation.device);
  std::string commands = kSavedCommandsStart +
                         "\n# Without contention, as they were predicted; --engine replay has it. Paths are those of "
                         "where validate ran.\n";
  for (std::size_t s = 0; s < site.steps.size(); ++s) {
    const MeasuredStep& step = site.steps[s];
    Plan plan = times.plan(s);
    plan.computed = computed_as(step, validation.device);
    const std::string file = plans.keep("", step.name, plan, times.graph(s), platform);
    commands += "stagecraft simulate " + shell_word(file) + model_option(step, plans) + " --platform " +
                shell_word(site.platform) + " --engine evaluate\n";
  }
  write_file_atomically(list, commands);
  return list;
}

}  // namespace stagecraft
