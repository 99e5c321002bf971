#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/optimizer_recipe.hpp"

#include <cstdint>
#include <optional>

namespace stagecraft {

/// What counts as the memory of a layer's activations.
enum class StashConvention {
  Autograd,  ///< what the model file says: the tensors that its backward reads, and its workspace
  Input,     ///< the bytes of its inputs and nothing else, as in MadPipe's formula
};

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
  friend bool operator==(const Training&, const Training&) = default;

  [[nodiscard]] Bytes bucket() const { return gradient_bucket.value_or(Bytes(0)); }
};

}  // namespace stagecraft
