#include "sim/model/reduced_gradients.hpp"

#include "sim/model/optimizer_recipe.hpp"

namespace stagecraft {

std::int64_t reduced_copies(const Training& training) {
  if (!training.recipe) return 1;
  switch (*training.recipe) {
    case OptimizerRecipe::Mixed:
    case OptimizerRecipe::Mixed16Accumulate32: return 2;
    case OptimizerRecipe::Fp32:
    case OptimizerRecipe::SgdMomentum:
    case OptimizerRecipe::Mixed16:
    case OptimizerRecipe::Pure16: return 1;
  }
  return 1;
}

Bytes reduced_gradients(const Training& training, Bytes parameters) { return parameters * reduced_copies(training); }

std::vector<Bytes> reduced_gradients(const Training& training, std::vector<Bytes> parameters) {
  for (Bytes& bytes : parameters) bytes = reduced_gradients(training, bytes);
  return parameters;
}

}  // namespace stagecraft
