#pragma once

#include <cstdint>

namespace stagecraft {

/// The memory that training keeps besides activations (docs/reference/report.md).
struct Training {
  std::int64_t gradient_copies = 1;
  std::int64_t optimizer_copies = 2;
  std::int64_t boundary_buffers = 2;
  double input_gradient_release = 0.0;  ///< part of the stash that a split backward frees after its input-gradient half
  friend bool operator==(const Training&, const Training&) = default;
};

}  // namespace stagecraft
