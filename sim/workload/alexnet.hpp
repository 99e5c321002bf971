#pragma once

#include "sim/workload/architecture.hpp"

#include <cstdint>
#include <string>

namespace stagecraft {

/// AlexNet's five convolutions and three linear layers.
struct AlexnetSize {
  std::int64_t image = 224;    ///< pixels along an edge, at least 63
  std::int64_t hidden = 4096;  ///< outputs of the first two linear layers
  std::int64_t classes = 1000;
  friend bool operator==(const AlexnetSize&, const AlexnetSize&) = default;
};

/// Layers `conv1`, `relu1`, `pool1`, …, `pool5` (with the adaptive average pooling to 6x6 and the first dropout),
/// `fc6`, `relu6` (with the second dropout), `fc7`, `relu7`, `fc8`; blocks `conv1` … `conv5`, each with its ReLU and
/// pooling, `fc6`, `fc7`, `fc8`. A chain.
/// **Throws** InputError for an image that is too small, and for sizes below 1 or beyond `ImageLimits`.
/// **Source** A. Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014, arXiv:1404.5997;
/// the modules are torchvision's.
[[nodiscard]] Architecture alexnet(const std::string& name, const AlexnetSize& size);

}  // namespace stagecraft
