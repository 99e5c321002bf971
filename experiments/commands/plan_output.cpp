#include "experiments/commands/plan_output.hpp"

#include "experiments/run/written_file.hpp"
#include "sim/io/plan_file.hpp"

#include <utility>

namespace stagecraft {

Answer with_plan_written(const std::optional<std::string>& output, const Planning& planning, const Platform& platform,
                         const Settings& settings, Answer answer) {
  if (!output) return answer;
  if (planning.planned() == nullptr) {
    settings.say(names_file(output) ? "note: " + *output + " is not written, because there is no plan" : answer.text);
    if (!names_file(output)) answer.text.clear();
    return answer;
  }
  return with_plan_written(*output, planning.planned()->plan, planning.graph, platform, std::move(answer));
}

Answer with_plan_written(const std::string& output, const Plan& plan, const LayerGraph& graph, const Platform& platform,
                         Answer answer) {
  if (names_file(output)) {
    write_plan(output, plan, graph, platform);
  } else {
    answer.text = write_plan_yaml(plan, graph, platform);
    answer.json = plan_to_json(plan, graph, platform);
  }
  return answer;
}

void write_plan(const std::string& output, const Plan& plan, const LayerGraph& graph, const Platform& platform) {
  write_file_atomically(output, output.ends_with(".json") ? plan_to_json(plan, graph, platform) + "\n"
                                                          : write_plan_yaml(plan, graph, platform));
}

}  // namespace stagecraft
