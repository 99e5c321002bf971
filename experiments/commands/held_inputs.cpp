#include "experiments/commands/held_inputs.hpp"

#include "experiments/run/judge.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/io/json.hpp"
#include "sim/model/report.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

constexpr std::size_t kMostProfiles = 16;
constexpr const char* kName = "<plan>";

Detail::Record evaluation_record(const Report& report, const Platform& platform) {
  Detail::Record record{{"outcome", report.out_of_memory() ? "out_of_memory" : "ok"}};
  for (auto& figure : figures_record(report.figures(), platform)) record.push_back(std::move(figure));
  record.emplace_back("throughput_samples_per_s", report.throughput);
  record.emplace_back("bubble_ratio", report.bubble_ratio);
  return record;
}

}  // namespace

const LayerGraph& HeldInputs::graph_for(const PlanHeader& header) {
  const auto found = std::ranges::find_if(profiles_, [&](const Profile& profile) {
    return profile.microbatch_size == header.microbatch_size && profile.stash == header.stash &&
           profile.degrees == header.degrees;
  });
  if (found != profiles_.end()) return found->graph;
  const auto ignore = [](const std::string&) {};
  LayerGraph graph = profile_at(inputs_.model, header.microbatch_size, header.stash, ignore, header.degrees);
  profiles_.push_front({header.microbatch_size, header.stash, header.degrees, std::move(graph)});
  if (profiles_.size() > kMostProfiles) profiles_.pop_back();
  return profiles_.front().graph;
}

Detail::Record HeldInputs::evaluate(const std::string& plan) {
  const LayerGraph& graph = graph_for(parse_plan_header(plan, kName));
  const PlanReading reading = parse_plan(plan, kName, graph, inputs_.platform);
  const Judgement judged = judge_plan(graph, inputs_.platform, reading);
  refuse_findings(kName, "the plan breaks a rule", judged.findings, "stagecraft check lists every violation");
  return evaluation_record(evaluate_until_converged(graph, inputs_.platform, *judged.program), inputs_.platform);
}

}  // namespace stagecraft
