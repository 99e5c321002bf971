#include "experiments/commands/saved_steps.hpp"

#include "experiments/commands/plan_folder.hpp"
#include "experiments/measured/step_network.hpp"
#include "experiments/measured/step_times.hpp"
#include "experiments/run/named_model.hpp"
#include "experiments/run/written_file.hpp"
#include "sim/base/text.hpp"

#include <filesystem>
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

/// The option that names the network, which is written to `file` if the step has sizes of its own.
std::string model_option(const MeasuredStep& step, const std::string& file,
                         const std::vector<std::string>& files_read) {
  if (is_network(step.model)) return "";
  const FileText network = network_file(step);
  if (step.sizes.empty()) return " --model " + shell_word(network.path);
  std::vector<std::string> kept = files_read;
  kept.push_back(network.path);
  refuse_overwriting(file, OutputKind::ArchitectureFile, kept);
  write_file_atomically(file, overridden(network, step.sizes, "") + "\n");
  return " --model " + shell_word(file);
}

/// The names of all files of the folder, so that none comes twice.
std::vector<std::string> names_of(const MeasuredSite& site) {
  std::vector<std::string> names;
  for (const MeasuredStep& step : site.steps) {
    names.push_back(step.name);
    if (!step.sizes.empty()) names.push_back(step.name + ".network");
  }
  return names;
}

}  // namespace

std::string save_steps(const Validation& validation, const Platform& platform, const std::string& folder,
                       const std::vector<std::string>& files_read) {
  const MeasuredSite& site = validation.site;
  const PlanFolder plans(folder.starts_with('-') ? "./" + folder : folder, {""}, names_of(site));
  std::string list = plans.path() + "/commands.sh";
  refuse_overwriting(list, OutputKind::SavedCommands, files_read);
  const StepTimes times(site.steps, platform, validation.device);
  std::string commands = kSavedCommandsStart +
                         "\n# Without contention, as they were predicted; --engine replay has it. Paths are those of "
                         "where validate ran.\n";
  for (std::size_t s = 0; s < site.steps.size(); ++s) {
    const MeasuredStep& step = site.steps[s];
    Plan plan = times.plan(s);
    plan.computed = computed_as(step, validation.device);
    const std::string file = plans.keep("", step.name, plan, times.graph(s), platform);
    const std::string network = std::filesystem::path(file).replace_extension(".network.yaml").string();
    commands += "stagecraft simulate " + shell_word(file) + model_option(step, network, files_read) + " --platform " +
                shell_word(site.platform) + " --engine evaluate\n";
  }
  write_file_atomically(list, commands);
  return list;
}

}  // namespace stagecraft
