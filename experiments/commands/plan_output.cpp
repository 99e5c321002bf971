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
  const std::string json = plan_to_json(plan, graph, platform);
  const std::string yaml = write_plan_yaml(plan, graph, platform);
  if (names_file(output)) {
    write_file_atomically(output, output.ends_with(".json") ? json + "\n" : yaml);
  } else {
    answer.text = yaml;
    answer.json = json;
  }
  return answer;
}

}  // namespace stagecraft
