#include "sim/model/training_choice.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <cstdint>
#include <string>

namespace stagecraft {
namespace {

void check_weight_bytes(OptimizerRecipe recipe, const LayerGraph& graph) {
  const std::int64_t expected = kept_copies(recipe).weight_bytes;
  const std::int64_t found = known_parameter_bytes(graph).value_or(expected);
  if (found == expected) return;
  std::string names;
  for (const OptimizerRecipe other : kOptimizerRecipes) {
    if (kept_copies(other).weight_bytes == found) names += (names.empty() ? "" : ", ") + std::string(to_string(other));
  }
  throw InputError("the optimizer's recipe " + quote(to_string(recipe)) + " has weights of " +
                       std::to_string(expected) + " bytes, and a parameter of " + quote(graph.name) + " takes " +
                       std::to_string(found),
                   {}, "recipes for this model: " + names + "; or a model file in another precision");
}

}  // namespace

Training training_of(const TrainingChoice& choice, const LayerGraph& graph) {
  auto training = static_cast<const Training&>(choice);
  if (training.recipe) {
    check_weight_bytes(*training.recipe, graph);
  } else if (known_parameter_bytes(graph) == kept_copies(OptimizerRecipe::Mixed).weight_bytes) {
    training.recipe = OptimizerRecipe::Mixed;
  } else {
    return training;
  }
  const KeptCopies kept = kept_copies(*training.recipe);
  if (!choice.gives_gradient_copies) training.gradient_copies = kept.gradients;
  if (!choice.gives_optimizer_copies) training.optimizer_copies = kept.optimizer;
  return training;
}

}  // namespace stagecraft
