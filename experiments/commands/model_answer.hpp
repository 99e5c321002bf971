#pragma once

#include "experiments/commands/verb.hpp"
#include "sim/model/layer_graph.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// What the verbs that make a model answer: the model file itself, or, once it has been written to `output` (as JSON if
/// the name ends in .json), what was written.
/// **Throws** InputError where it cannot be written.
[[nodiscard]] Answer model_answer(const Model& model, const std::optional<std::string>& output);

}  // namespace stagecraft
