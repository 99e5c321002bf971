#pragma once

#include "sim/workload/architecture.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft {

/// The computation of a residual block besides its shortcut.
enum class ResnetBlock {
  Basic,       ///< two 3x3 convolutions
  Bottleneck,  ///< 1x1, 3x3 (with the stride), 1x1 to four times the channels
};

/// A residual network: a 7x7 convolution and a pooling, groups of residual blocks, global average, one linear layer.
struct ResnetSize {
  std::vector<std::int64_t> blocks;  ///< of each group; every group but the first halves the image
  ResnetBlock block = ResnetBlock::Bottleneck;
  std::int64_t width = 64;  ///< channels of the first group's 3x3 convolutions; each further group has twice as many
  std::int64_t image = 224;
  std::int64_t classes = 1000;
  friend bool operator==(const ResnetSize&, const ResnetSize&) = default;
};

/// The most of each size, beside `ImageLimits`.
struct ResnetLimits {
  static constexpr std::int64_t kGroups = 8;
  static constexpr std::int64_t kBlocks = 1000;  ///< of a group
  static constexpr std::int64_t kWidth = 1 << 10;
};

/// Layers `conv1`, `maxpool`, for each block `layer1.0.conv1`, …, `layer1.0.downsample` where the shortcut changes
/// shape and `layer1.0.add`, then `avgpool` and `fc`; a convolution's layer holds its batch normalisation and ReLU, an
/// addition's layer the ReLU that follows. Blocks `stem`, `layer1.0`, `layer1.1`, …, `head`: a chain.
/// **Throws** InputError for sizes below 1 or beyond the limits.
/// **Source** K. He et al., "Deep Residual Learning for Image Recognition", CVPR 2016, arXiv:1512.03385; the modules
/// are torchvision's, which put a bottleneck's stride on the 3x3 convolution.
[[nodiscard]] Architecture resnet(const std::string& name, const ResnetSize& size);

}  // namespace stagecraft
