#pragma once

#include "sim/workload/architecture.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft {

/// A densely connected network: each layer's features are concatenated to all features before it.
struct DensenetSize {
  std::vector<std::int64_t> blocks;  ///< dense layers of each dense block
  std::int64_t growth = 32;          ///< channels that a dense layer adds
  std::int64_t width = 64;           ///< channels of the first convolution
  std::int64_t bottleneck = 4;       ///< channels of a 1x1 convolution, in multiples of `growth`
  std::int64_t image = 224;
  std::int64_t classes = 1000;
  friend bool operator==(const DensenetSize&, const DensenetSize&) = default;
};

/// The most of each size, beside `ImageLimits`.
struct DensenetLimits {
  static constexpr std::int64_t kBlocks = 8;
  static constexpr std::int64_t kLayers = 256;  ///< of a dense block
  static constexpr std::int64_t kGrowth = 1 << 9;
  static constexpr std::int64_t kWidth = 1 << 12;
  static constexpr std::int64_t kBottleneck = 1 << 4;
};

/// Layers `conv0`, `pool0`, for each dense layer `denseblock1.denselayer1.conv1`, `….conv2` and `….concat`, between
/// dense blocks `transition1.conv` and `transition1.pool`, then `norm5` (with the global average) and `classifier`; the
/// layer of a convolution holds the batch normalisation and ReLU before it. Blocks `stem`, each dense layer with its
/// concatenation, `transition1`, …, `head`: a chain, since a concatenation holds all that came before it.
/// **Throws** InputError for an image that the poolings leave nothing of, and for sizes below 1 or beyond the limits.
/// **Source** G. Huang et al., "Densely Connected Convolutional Networks", CVPR 2017, arXiv:1608.06993; the modules are
/// those of torchvision up to version 0.3, where a dense layer returns the concatenation of its input and its features.
[[nodiscard]] Architecture densenet(const std::string& name, const DensenetSize& size);

}  // namespace stagecraft
