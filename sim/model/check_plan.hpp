#pragma once

#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"

#include <string>
#include <vector>

namespace stagecraft {

struct Plan;

/// A rule that a plan breaks.
struct Violation {
  enum class Rule {
    Numbers,      ///< a count that has to be positive, or a share outside 0 to 1
    Coverage,     ///< each pipeline holds every layer exactly once
    Devices,      ///< a stage without devices, or with one of them twice
    Order,        ///< a layer that feeds an earlier stage
    Recompute,    ///< a segment that is not made of consecutive layers of the stage, or overlaps another
    Swap,         ///< a swapped layer that is not the stage's, is recomputed too, or is on a device without a host
    Replication,  ///< fewer samples than replicas that divide them
    Connection,   ///< two devices that exchange tensors or gradients without a route between them
  };
  Rule rule = Rule::Numbers;
  StageId stage;  ///< none for the plan as a whole
  std::string message;
  friend bool operator==(const Violation&, const Violation&) = default;
};

[[nodiscard]] const char* to_string(Violation::Rule rule);

/// Checks a plan independently of the planner that made it, and returns every rule that it breaks, by stage. Memory is
/// checked by running the plan (`Report::overflows`), and the schedule by its family (`compile_schedule`).
/// **Requires** layer and device indices of `graph` and `platform`.
/// **Cost** O(layers + edges + devices exchanging with each other).
[[nodiscard]] std::vector<Violation> check_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan);

}  // namespace stagecraft
