#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// Which copies of the parameters training keeps, by the optimizer that frameworks use.
enum class OptimizerRecipe { Fp32, SgdMomentum, Mixed, Mixed16, Mixed16Accumulate32, Pure16 };
inline constexpr std::array kOptimizerRecipes{
    OptimizerRecipe::Fp32,    OptimizerRecipe::SgdMomentum,         OptimizerRecipe::Mixed,
    OptimizerRecipe::Mixed16, OptimizerRecipe::Mixed16Accumulate32, OptimizerRecipe::Pure16};

/// What a recipe keeps of a parameter. **Units** copies are in sizes of a weight, as in `Training`.
struct KeptCopies {
  std::int64_t weight_bytes = 4;
  std::int64_t gradients = 1;
  std::int64_t optimizer = 2;
  friend bool operator==(const KeptCopies&, const KeptCopies&) = default;
};

[[nodiscard]] const char* to_string(OptimizerRecipe recipe);
/// The recipe of that name; none for other names.
[[nodiscard]] std::optional<OptimizerRecipe> optimizer_recipe_of(std::string_view name);
[[nodiscard]] std::vector<std::string> optimizer_recipe_names();
[[nodiscard]] KeptCopies kept_copies(OptimizerRecipe recipe);

}  // namespace stagecraft
