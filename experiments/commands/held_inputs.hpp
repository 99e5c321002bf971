#pragma once

#include "experiments/commands/shared_options.hpp"
#include "experiments/run/inputs.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/model/computed_choice.hpp"
#include "sim/model/degrees.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/layer_graph.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

namespace stagecraft {

/// A model on a platform, for which a client of `stagecraft serve` has many plans evaluated. They are loaded once, and
/// once more for plans that choose other figures of a model that is computed.
class HeldInputs {
 public:
  using Say = std::function<void(const std::string&)>;

  /// `files`: texts that come with them (`GivenFiles`). Remarks go to `say`. **Throws** InputError as `load_inputs`.
  HeldInputs(InputOptions given, std::map<std::string, std::string> files, const Say& say);

  /// Figures of a plan without contention, as `simulate --engine evaluate` has them, but only the first ones.
  /// **Throws** InputError for a text that is no plan, and for a plan that breaks a rule.
  [[nodiscard]] Detail::Record evaluate(const std::string& plan, const Say& say);

 private:
  /// A profile, and what a plan says of which one it needs.
  struct Profile {
    std::int64_t microbatch_size = 1;
    StashConvention stash = StashConvention::Autograd;
    Degrees degrees;
    LayerGraph graph;
  };
  /// The inputs as a plan chooses them.
  struct Loaded {
    ComputedChoice computed;
    Inputs inputs;
    std::deque<Profile> profiles = {};  ///< the newest one first
  };

  Loaded& loaded_for(const PlanHeader& header, const std::string& plan, const Say& say);
  static const LayerGraph& graph_for(const PlanHeader& header, Loaded& loaded, const Say& say);

  InputOptions given_;
  std::map<std::string, std::string> files_;
  std::deque<Loaded> loaded_;  ///< the newest one first
};

}  // namespace stagecraft
