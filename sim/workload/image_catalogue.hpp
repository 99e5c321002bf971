#pragma once

#include "sim/workload/architecture.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace stagecraft {

/// A known network for images, of any size that it can bear.
struct ImageNetwork {
  const char* name;
  std::int64_t usual_image;  ///< pixels along an edge
  /// **Throws** InputError for an image that is too small or too large.
  Architecture (*make)(const std::string& name, std::int64_t image);
};

/// In the order of the catalogue.
[[nodiscard]] std::span<const ImageNetwork> image_networks();

}  // namespace stagecraft
