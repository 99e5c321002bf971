#pragma once

#include "experiments/commands/verb.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/workload/architecture.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// The answer of the verbs that make a model: the text of the model file; or, if `output` is a file, a summary of the
/// file, which is written there (as JSON if the name ends in .json). `only_recipe` as for `write_model`. The summary
/// says how many parameters the `network` has that was computed, if any, and how many of them a token uses.
/// **Throws** InputError if the file cannot be written.
[[nodiscard]] Answer model_answer(const Model& model, const std::optional<std::string>& output,
                                  bool only_recipe = false, const Architecture* network = nullptr);

}  // namespace stagecraft
