#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/optimizer_recipe.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace stagecraft {

/// What counts as the memory of a layer's activations.
enum class StashConvention {
  Autograd,  ///< what the model file says: the tensors that its backward reads, and its workspace
  Input,     ///< the bytes of its inputs and nothing else, as in MadPipe's formula
};

inline constexpr Bytes kUsualBucket{25 << 20};   ///< of PyTorch's DistributedDataParallel; `Training::gradient_bucket`
inline constexpr std::int64_t kMostDivided = 3;  ///< `Training::zero` at most

/// What training does besides the forwards and backwards of a plan (docs/reference/formats/plan.md): the memory that it
/// keeps besides activations, and how it exchanges gradients.
struct Training {
  std::int64_t gradient_copies = 1;
  std::int64_t optimizer_copies = 2;
  std::int64_t boundary_buffers = 2;
  double input_gradient_release = 0.0;  ///< part of the stash that a split backward frees after its input-gradient half
  /// The size of the buckets in which replicas exchange gradients while the last backward of an update still runs. 0 or
  /// absent: all at once after it. In a request, absent leaves the choice to the planner.
  std::optional<Bytes> gradient_bucket = std::nullopt;
  /// Decides which graph a plan is made for and run with (`with_stash`); nothing else reads it.
  StashConvention stash = StashConvention::Autograd;
  std::optional<OptimizerRecipe> recipe = std::nullopt;  ///< where the copies come from one; `reduced_gradients` too
  /// Which copies the replicas of a stage divide among themselves: 1 the optimizer's state, 2 gradients too, 3 weights
  /// too. **Source** S. Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter models",
  /// SC 2020.
  std::int64_t zero = 0;
  friend bool operator==(const Training&, const Training&) = default;

  /// Gradients that are divided leave layer by layer at the latest.
  [[nodiscard]] Bytes bucket() const {
    const Bytes given = gradient_bucket.value_or(Bytes(0));
    return zero >= 2 ? std::max(given, Bytes(1)) : given;
  }
};

/// Of one parameter: as the recipe has it, or 4.
[[nodiscard]] inline std::int64_t weight_bytes(const Training& training) {
  return training.recipe ? kept_copies(*training.recipe).weight_bytes : KeptCopies().weight_bytes;
}

}  // namespace stagecraft
