#include "experiments/view/sensitivity_view.hpp"

#include "experiments/view/table.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/short_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

std::string name_or_dash(const Sensitivity& sensitivity, const std::optional<std::size_t>& contender) {
  return contender ? sensitivity.planners[*contender] : "-";
}

std::string ratio_text(const std::optional<double>& ratio) { return ratio ? fmt::format("{:.3f}", *ratio) : "-"; }

/// Whether the winner as given still wins, and if it does not run at all, why.
std::string fate(const Sensitivity& sensitivity, const PlanRanking& ranking) {
  if (sensitivity.survives(ranking)) return "yes";
  const Standing& own = ranking.plans[sensitivity.winner()];
  if (own.is_ok()) return "no";
  return own.outcome == "refused" ? "no, refused" : "no, out of memory";
}

std::vector<std::string> variation_cells(const Sensitivity& sensitivity, const PlanRanking& ranking) {
  const std::optional<double> lead = ranking.lead();
  return {ranking.variation,
          name_or_dash(sensitivity, ranking.winner),
          ranking.winner ? short_number(ranking.plans[*ranking.winner].throughput) : "-",
          lead ? signed_percent(*lead) : "-",
          name_or_dash(sensitivity, ranking.runner_up),
          fate(sensitivity, ranking),
          ratio_text(ranking.regret(sensitivity.winner()))};
}

/// `spp wins with bandwidth x 2, compute x 1.25; no plan runs with latency x 10`, winners in the order of the table.
std::string losses(const Sensitivity& sensitivity) {
  std::vector<std::pair<std::optional<std::size_t>, std::string>> by_winner;
  for (const PlanRanking& ranking : sensitivity.varied) {
    if (sensitivity.survives(ranking)) continue;
    const auto known =
        std::ranges::find(by_winner, ranking.winner, &std::pair<std::optional<std::size_t>, std::string>::first);
    if (known == by_winner.end()) {
      by_winner.emplace_back(ranking.winner, ranking.variation);
    } else {
      known->second += ", " + ranking.variation;
    }
  }
  std::string text;
  for (const auto& [winner, variations] : by_winner) {
    const std::string who = winner ? sensitivity.planners[*winner] + " wins with " : "no plan runs with ";
    if (!text.empty()) text += "; ";
    text += who;
    text += variations;
  }
  return text;
}

/// `spp survives 7 of 13 variations, with a regret of at most 1.570: pipedream-sync wins with …`
std::string verdict(const Sensitivity& sensitivity) {
  const std::string& winner = sensitivity.planners[sensitivity.winner()];
  const std::size_t total = sensitivity.varied.size();
  if (sensitivity.survived() == total) return winner + " survives all " + counted(total, "variation") + ".\n";
  std::optional<double> worst;
  for (const PlanRanking& ranking : sensitivity.varied) {
    const std::optional<double> regret = ranking.regret(sensitivity.winner());
    if (!sensitivity.survives(ranking) && regret) worst = std::max(worst.value_or(1.0), *regret);
  }
  return winner + " survives " + std::to_string(sensitivity.survived()) + " of " + counted(total, "variation") +
         (worst ? fmt::format(", with a regret of at most {:.3f}", *worst) : "") + ": " + losses(sensitivity) + ".\n";
}

/// The reasons why plans cannot be run on varied inputs, each once.
std::string refusals(const Sensitivity& sensitivity) {
  std::string text;
  for (std::size_t i = 0; i < sensitivity.planners.size(); ++i) {
    for (const PlanRanking& ranking : sensitivity.varied) {
      if (ranking.plans[i].outcome != "refused") continue;
      text += sensitivity.planners[i] + ", refused with " + ranking.variation + ": " + ranking.plans[i].reason + "\n";
      break;
    }
  }
  return text;
}

Detail optional_detail(const std::optional<double>& value) { return value ? Detail(*value) : Detail(); }

Detail name_detail(const Sensitivity& sensitivity, const std::optional<std::size_t>& contender) {
  return contender ? Detail(sensitivity.planners[*contender]) : Detail();
}

Detail::Record ranking_record(const Sensitivity& sensitivity, const PlanRanking& ranking) {
  Detail::List plans;
  for (std::size_t i = 0; i < ranking.plans.size(); ++i) {
    const Standing& standing = ranking.plans[i];
    Detail::Record plan{{"planner", sensitivity.planners[i]}, {"outcome", standing.outcome}};
    if (standing.outcome == "refused") {
      plan.emplace_back("reason", standing.reason);
    } else {
      plan.emplace_back("throughput_samples_per_s", standing.throughput);
    }
    plans.emplace_back(std::move(plan));
  }
  return {{"variation", ranking.variation},
          {"winner", name_detail(sensitivity, ranking.winner)},
          {"runner_up", name_detail(sensitivity, ranking.runner_up)},
          {"lead", optional_detail(ranking.lead())},
          {"survives", sensitivity.survives(ranking)},
          {"regret", optional_detail(ranking.regret(sensitivity.winner()))},
          {"plans", std::move(plans)}};
}

}  // namespace

std::string sensitivity_text(const std::string& title, const std::optional<Sensitivity>& sensitivity) {
  if (!sensitivity) {
    return title + ": there is no sensitivity to show, since fewer than two plans run with sufficient memory.\n";
  }
  const std::string& winner = sensitivity->planners[sensitivity->winner()];
  Table table{{"variation", "winner", "samples/s", "lead", "runner-up", "survives", "regret"}, {}, 2};
  table.rows.push_back(variation_cells(*sensitivity, sensitivity->given));
  table.rows.back()[5] = "-";
  for (const PlanRanking& ranking : sensitivity->varied) table.rows.push_back(variation_cells(*sensitivity, ranking));
  return title + ", the same plans on varied inputs\n" + to_text(table) +
         "lead: over the runner-up's samples/s; regret: the winner's samples/s over those of " + winner + "\n" +
         refusals(*sensitivity) + verdict(*sensitivity);
}

Detail sensitivity_record(const std::optional<Sensitivity>& sensitivity) {
  if (!sensitivity) return {};
  Detail::List variations;
  for (const PlanRanking& ranking : sensitivity->varied) variations.emplace_back(ranking_record(*sensitivity, ranking));
  return Detail::Record{{"winner", sensitivity->planners[sensitivity->winner()]},
                        {"survives", sensitivity->survived() == sensitivity->varied.size()},
                        {"survived", static_cast<std::int64_t>(sensitivity->survived())},
                        {"given", ranking_record(*sensitivity, sensitivity->given)},
                        {"variations", std::move(variations)}};
}

}  // namespace stagecraft
