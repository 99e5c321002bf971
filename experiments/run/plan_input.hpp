#pragma once

#include "experiments/run/inputs.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/model/layer_graph.hpp"

#include <functional>
#include <string>

namespace stagecraft {

/// A plan with the profile it was made for.
struct PlanInput {
  LayerGraph graph;  ///< at the plan's microbatch size
  PlanReading reading;
};

/// Reads a plan file against a model and a platform. `say` is told when the plan was made for others.
/// **Throws** InputError for what is not a plan at all.
[[nodiscard]] PlanInput load_plan(const std::string& path, const Inputs& inputs,
                                  const std::function<void(const std::string&)>& say);

/// The same of a text that has been read from `path` already.
[[nodiscard]] PlanInput parse_plan_input(const std::string& text, const std::string& path, const Inputs& inputs,
                                         const std::function<void(const std::string&)>& say);

}  // namespace stagecraft
