#pragma once

#include "experiments/run/simulation.hpp"
#include "experiments/run/variation.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

struct Plan;

/// A plan whose rank is asked for. It refers to what the planner made.
struct Entrant {
  std::string planner;
  const LayerGraph* graph = nullptr;
  const Plan* plan = nullptr;
};

/// How a plan runs on certain inputs.
struct Standing {
  std::string outcome;      ///< `ok`, `out_of_memory`, or `refused` if the plan cannot be run on these inputs
  double throughput = 0.0;  ///< samples per second
  std::string reason = {};  ///< why it is refused
  [[nodiscard]] bool is_ok() const { return outcome == "ok"; }
};

/// The plans on certain inputs. Only those that are `ok` compete.
struct PlanRanking {
  std::string variation;
  std::vector<Standing> plans;           ///< of each contender
  std::optional<std::size_t> winner;     ///< the contender with the highest throughput
  std::optional<std::size_t> runner_up;  ///< the next one

  /// By which share the winner's throughput exceeds that of the runner-up.
  [[nodiscard]] std::optional<double> lead() const;
  /// The winner's throughput over that of a contender, none if that one is not `ok`.
  [[nodiscard]] std::optional<double> regret(std::size_t contender) const;
};

/// Whether the winner among some plans stays the winner when the inputs change that they were made for.
struct Sensitivity {
  std::vector<std::string> planners;  ///< of the contenders
  PlanRanking given;                  ///< on the inputs that the plans were made for; it has a winner and a runner-up
  std::vector<PlanRanking> varied;

  [[nodiscard]] std::size_t winner() const { return *given.winner; }
  [[nodiscard]] bool survives(const PlanRanking& ranking) const { return ranking.winner == given.winner; }
  [[nodiscard]] std::size_t survived() const;
};

/// The plans by throughput. If several are the fastest to a relative 1e-9, `preferred` wins, else the first of them.
[[nodiscard]] PlanRanking rank(std::string variation, std::vector<Standing> plans,
                               std::optional<std::size_t> preferred);

/// Simulates the plans on the platform as it is and with each of `usual_variations`. None if fewer than two of them run
/// with sufficient memory on the platform as it is, whose `standings` are given. After each simulation it calls
/// `progress` with the number of those that are done and of all.
[[nodiscard]] std::optional<Sensitivity> find_sensitivity(
    const Platform& platform, const std::vector<Entrant>& contenders, std::vector<Standing> standings,
    const SimulationChoices& choices, const std::function<void(std::size_t, std::size_t)>& progress);

}  // namespace stagecraft
