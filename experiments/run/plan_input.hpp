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

/// Reads a plan file for a model and a platform. Passes a warning to `say` if the plan was made for others.
/// **Throws** InputError if the file is not a plan.
[[nodiscard]] PlanInput load_plan(const std::string& path, const Inputs& inputs,
                                  const std::function<void(const std::string&)>& say);

/// The same for a text that has already been read from `path`.
[[nodiscard]] PlanInput parse_plan_input(const std::string& text, const std::string& path, const Inputs& inputs,
                                         const std::function<void(const std::string&)>& say);

}  // namespace stagecraft
