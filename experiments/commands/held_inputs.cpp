#include "experiments/commands/held_inputs.hpp"

#include "experiments/run/judge.hpp"
#include "experiments/run/plan_input.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/io/json.hpp"
#include "sim/io/text_file.hpp"
#include "sim/model/report.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kMostKept = 16;  ///< choices of a model's figures, and profiles of each
constexpr const char* kName = "<plan>";

Detail::Record evaluation_record(const Report& report, const Platform& platform) {
  Detail::Record record{{"outcome", report.out_of_memory() ? "out_of_memory" : "ok"}};
  for (auto& figure : figures_record(report.figures(), platform)) record.push_back(std::move(figure));
  record.emplace_back("throughput_samples_per_s", report.throughput);
  record.emplace_back("bubble_ratio", report.bubble_ratio);
  return record;
}

}  // namespace

HeldInputs::HeldInputs(InputOptions given, std::map<std::string, std::string> files, const Say& say)
    : given_(std::move(given)), files_(std::move(files)) {
  loaded_.push_front({{}, load_inputs(given_, Settings{.say = say})});
}

HeldInputs::Loaded& HeldInputs::loaded_for(const PlanHeader& header, const std::string& plan, const Say& say) {
  const auto found = std::ranges::find(loaded_, header.computed, &Loaded::computed);
  if (found != loaded_.end()) return *found;
  const GivenFiles files(files_);
  FoundInputs chosen = find_plan_inputs({given_.model, given_.platform.platform}, {kName, plan});
  InputOptions options = given_;
  options.model = std::move(chosen.model);
  options.of_plan = std::move(chosen.choice);
  loaded_.push_front({header.computed, load_inputs(options, Settings{.say = say})});
  if (loaded_.size() > kMostKept) loaded_.pop_back();
  return loaded_.front();
}

const LayerGraph& HeldInputs::graph_for(const PlanHeader& header, Loaded& loaded, const Say& say) {
  const auto found = std::ranges::find_if(loaded.profiles, [&](const Profile& profile) {
    return profile.microbatch_size == header.microbatch_size && profile.stash == header.stash &&
           profile.degrees == header.degrees;
  });
  if (found != loaded.profiles.end()) return found->graph;
  LayerGraph graph = profile_at(loaded.inputs.model, header.microbatch_size, header.stash, say, header.degrees);
  loaded.profiles.push_front({header.microbatch_size, header.stash, header.degrees, std::move(graph)});
  if (loaded.profiles.size() > kMostKept) loaded.profiles.pop_back();
  return loaded.profiles.front().graph;
}

Detail::Record HeldInputs::evaluate(const std::string& plan, const Say& say) {
  const PlanHeader header = parse_plan_header(plan, kName);
  Loaded& loaded = loaded_for(header, plan, say);
  const Platform& platform = loaded.inputs.platform;
  tell_mismatches(header, loaded.inputs, say);
  const LayerGraph& graph = graph_for(header, loaded, say);
  const PlanReading reading = parse_plan(plan, kName, graph, platform);
  const Judgement judged = judge_plan(graph, platform, reading);
  refuse_findings(kName, "the plan breaks a rule", judged.findings, "stagecraft check lists every violation");
  return evaluation_record(evaluate_until_converged(graph, platform, *judged.program), platform);
}

}  // namespace stagecraft
