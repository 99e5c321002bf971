#pragma once

#include "sim/workload/architecture.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft {

/// A VGG network: blocks of 3x3 convolutions, each block ending in a 2x2 pooling, then three linear layers.
struct VggSize {
  std::vector<std::vector<std::int64_t>> blocks;  ///< output channels of each convolution
  std::int64_t image = 224;                       ///< pixels along an edge
  std::int64_t hidden = 4096;
  std::int64_t classes = 1000;
  friend bool operator==(const VggSize&, const VggSize&) = default;
};

/// The most of each size, beside `ImageLimits`.
struct VggLimits {
  static constexpr std::int64_t kConvolutions = 1000;  ///< of a block
  static constexpr std::int64_t kChannels = 1 << 14;
};

/// Layers `conv1_1`, `relu1_1`, …, `pool5` (with the adaptive average pooling to 7x7), `fc6`, `relu6` (with its
/// dropout), …, `fc8`; blocks `conv1` … `conv5`, `fc6`, `fc7`, `fc8`. Without batch normalisation and without a loss.
/// **Throws** InputError for an image that the poolings leave nothing of, and for sizes below 1.
/// **Source** K. Simonyan, A. Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition", ICLR
/// 2015, arXiv:1409.1556; the module list is torchvision's (in-place ReLU, dropout in the classifier).
[[nodiscard]] Architecture vgg(const std::string& name, const VggSize& size);

/// Configuration D of the paper.
[[nodiscard]] VggSize vgg16_size();

/// Configuration E of the paper.
[[nodiscard]] VggSize vgg19_size();

}  // namespace stagecraft
