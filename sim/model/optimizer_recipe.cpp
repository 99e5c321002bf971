#include "sim/model/optimizer_recipe.hpp"

#include <algorithm>
#include <string_view>

namespace stagecraft {

const char* to_string(OptimizerRecipe recipe) {
  switch (recipe) {
    case OptimizerRecipe::Fp32: return "fp32";
    case OptimizerRecipe::SgdMomentum: return "sgd-momentum";
    case OptimizerRecipe::Mixed: return "mixed";
    case OptimizerRecipe::Mixed16: return "mixed-16";
    case OptimizerRecipe::Mixed16Accumulate32: return "mixed-16-accumulate-32";
    case OptimizerRecipe::Pure16: return "pure-16";
  }
  return "";
}

std::optional<OptimizerRecipe> optimizer_recipe_of(std::string_view name) {
  const auto found =
      std::ranges::find(kOptimizerRecipes, name, [](OptimizerRecipe r) { return std::string_view(to_string(r)); });
  return found == kOptimizerRecipes.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string> optimizer_recipe_names() {
  std::vector<std::string> names;
  for (const OptimizerRecipe recipe : kOptimizerRecipes) names.emplace_back(to_string(recipe));
  return names;
}

KeptCopies kept_copies(OptimizerRecipe recipe) {
  switch (recipe) {
    // Adam's two moments.
    case OptimizerRecipe::Fp32: return {.weight_bytes = 4, .gradients = 1, .optimizer = 2};
    case OptimizerRecipe::SgdMomentum: return {.weight_bytes = 4, .gradients = 1, .optimizer = 1};
    // Gradients in 4 bytes; a copy of the weights and Adam's moments in 4 bytes each.
    case OptimizerRecipe::Mixed: return {.weight_bytes = 2, .gradients = 2, .optimizer = 6};
    case OptimizerRecipe::Mixed16: return {.weight_bytes = 2, .gradients = 1, .optimizer = 6};
    // Gradients in 2 bytes, and their sums in 4.
    case OptimizerRecipe::Mixed16Accumulate32: return {.weight_bytes = 2, .gradients = 3, .optimizer = 6};
    case OptimizerRecipe::Pure16: return {.weight_bytes = 2, .gradients = 1, .optimizer = 2};
  }
  return {};
}

}  // namespace stagecraft
