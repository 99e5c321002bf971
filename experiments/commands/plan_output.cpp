#include "experiments/commands/plan_output.hpp"

#include "experiments/run/written_file.hpp"
#include "sim/io/plan_file.hpp"

namespace stagecraft {

std::string plan_file_text(const Planning& planning, const Platform& platform, const std::string& path) {
  const Plan& plan = planning.planned()->plan;
  if (path.ends_with(".json")) return plan_to_json(plan, planning.graph, platform) + "\n";
  return write_plan_yaml(plan, planning.graph, platform);
}

void write_plan_output(const std::optional<std::string>& output, const Planning& planning, const Platform& platform,
                       const Settings& settings) {
  if (!output) return;
  if (planning.planned() == nullptr) {
    settings.say("note: " + *output + " is not written, because there is no plan");
  } else {
    write_file_atomically(*output, plan_file_text(planning, platform, *output));
  }
}

}  // namespace stagecraft
