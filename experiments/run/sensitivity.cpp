#include "experiments/run/sensitivity.hpp"

#include "experiments/run/judge.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr double kTie = 1e-9;  // relative

Standing standing_on(const Platform& platform, const Entrant& contender, const Variation& change,
                     SimulationChoices choices) {
  const LayerGraph graph = varied(*contender.graph, change);
  for (Model& model : choices.models) model = varied(std::move(model), change);
  const Judgement judged = judge_plan(graph, platform, {*contender.plan, {}});
  if (!judged.program) return {"refused", 0.0, judged.findings.front().message};
  try {
    const Report report = simulate_program(graph, platform, *judged.program, choices, Settings()).report;
    return {report.out_of_memory() ? "out_of_memory" : "ok", report.throughput};
  } catch (const InputError& error) {
    return {"refused", 0.0, error.what()};
  }
}

/// The fastest of the plans but `without`.
std::optional<std::size_t> fastest(const std::vector<Standing>& plans, std::optional<std::size_t> without) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!plans[i].is_ok() || i == without) continue;
    if (!best || plans[i].throughput > plans[*best].throughput * (1.0 + kTie)) best = i;
  }
  return best;
}

}  // namespace

std::optional<double> PlanRanking::lead() const {
  if (!winner || !runner_up) return std::nullopt;
  return plans[*winner].throughput / plans[*runner_up].throughput - 1.0;
}

std::optional<double> PlanRanking::regret(std::size_t contender) const {
  if (!winner || !plans[contender].is_ok()) return std::nullopt;
  return plans[*winner].throughput / plans[contender].throughput;
}

std::size_t Sensitivity::survived() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(varied, [&](const PlanRanking& ranking) { return survives(ranking); }));
}

PlanRanking rank(std::string variation, std::vector<Standing> plans, std::optional<std::size_t> preferred) {
  PlanRanking ranking{.variation = std::move(variation), .plans = std::move(plans), .winner = {}, .runner_up = {}};
  ranking.winner = fastest(ranking.plans, std::nullopt);
  if (preferred && ranking.winner && ranking.plans[*preferred].is_ok()) {
    const double least = ranking.plans[*ranking.winner].throughput * (1.0 - kTie);
    if (ranking.plans[*preferred].throughput >= least) ranking.winner = preferred;
  }
  ranking.runner_up = fastest(ranking.plans, ranking.winner);
  return ranking;
}

std::optional<Sensitivity> find_sensitivity(const Platform& platform, const std::vector<Entrant>& contenders,
                                            std::vector<Standing> standings, const SimulationChoices& choices,
                                            const std::function<void(std::size_t, std::size_t)>& progress) {
  Sensitivity sensitivity;
  for (const Entrant& contender : contenders) sensitivity.planners.push_back(contender.planner);
  sensitivity.given = rank("as given", std::move(standings), std::nullopt);
  if (!sensitivity.given.runner_up) return std::nullopt;
  const std::vector<NamedVariation> variations = usual_variations(platform);
  const std::size_t total = variations.size() * contenders.size();
  std::size_t done = 0;
  for (const auto& [name, change] : variations) {
    const Platform changed = build_platform(varied(platform.spec, change));
    std::vector<Standing> plans;
    for (const Entrant& contender : contenders) {
      plans.push_back(standing_on(changed, contender, change, choices));
      progress(++done, total);
    }
    sensitivity.varied.push_back(rank(name, std::move(plans), sensitivity.given.winner));
  }
  return sensitivity;
}

}  // namespace stagecraft
