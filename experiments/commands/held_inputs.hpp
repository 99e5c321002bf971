#pragma once

#include "experiments/run/inputs.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/model/degrees.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/layer_graph.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace stagecraft {

/// A model on a platform, for which a client of `stagecraft serve` has many plans evaluated. They are loaded once.
class HeldInputs {
 public:
  explicit HeldInputs(Inputs inputs) : inputs_(std::move(inputs)) {}

  /// Figures of a plan without contention, as `simulate --engine evaluate` has them, but only the first ones.
  /// **Throws** InputError for a text that is no plan, and for a plan that breaks a rule.
  [[nodiscard]] Detail::Record evaluate(const std::string& plan);

 private:
  /// A profile, and what a plan says of which one it needs.
  struct Profile {
    std::int64_t microbatch_size = 1;
    StashConvention stash = StashConvention::Autograd;
    Degrees degrees;
    LayerGraph graph;
  };

  const LayerGraph& graph_for(const PlanHeader& header);

  Inputs inputs_;
  std::deque<Profile> profiles_;  ///< those used last first
};

}  // namespace stagecraft
