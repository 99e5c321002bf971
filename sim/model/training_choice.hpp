#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/training.hpp"

namespace stagecraft {

/// What the user says of training, before the model is known. Copies that are not given follow from the recipe, and a
/// recipe that is not given from the model.
struct TrainingChoice : Training {
  bool gives_gradient_copies = false;
  bool gives_optimizer_copies = false;
};

/// The training of a model: of the copies those that are given, the others as the recipe has them; without one as
/// `mixed` for parameters of two bytes, else as `Training` has them.
/// **Throws** InputError for a recipe whose weights have other bytes than the model's parameters, if those are known.
[[nodiscard]] Training training_of(const TrainingChoice& choice, const LayerGraph& graph);

}  // namespace stagecraft
