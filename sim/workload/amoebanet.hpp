#pragma once

#include "sim/workload/architecture.hpp"

#include <cstdint>
#include <string>

namespace stagecraft {

/// An AmoebaNet-D. GPipe and torchgpipe call the first two sizes (L, D).
struct AmoebanetSize {
  std::int64_t cells = 18;     ///< normal cells, a multiple of 3: two reduction cells divide them into thirds
  std::int64_t filters = 256;  ///< channels of each state in the first third, a multiple of 8
  std::int64_t image = 224;
  std::int64_t classes = 1000;
  friend bool operator==(const AmoebanetSize&, const AmoebanetSize&) = default;
};

/// The most of each size, beside `ImageLimits`, and what they are multiples of.
struct AmoebanetLimits {
  static constexpr std::int64_t kCells = 999;
  static constexpr std::int64_t kFilters = 1 << 12;
  static constexpr std::int64_t kCellMultiple = 3;
  static constexpr std::int64_t kFilterMultiple =
      8;  ///< the first cell has half of `filters`, its bottlenecks an eighth
};

/// Layers: `stem1`; for each cell `….reduce1` and `….reduce2`, which fit its two inputs (the outputs of the two cells
/// before it) to its channels, `….op0` to `….op9` (each convolution of a bottleneck is one, `….op3.conv1`), the sums
/// `….sum0` to `….sum4` of two operations each, `….concat`; then `avgpool` and `fc`. The layer of a convolution holds
/// the ReLU before it and the batch normalisation after it. Blocks are torchgpipe's modules: `stem1`, the cells
/// `stem2`, `stem3`, `cell1_normal1`, …, `cell2_reduction`, …, `classify`. A block reads the two blocks before it, so
/// they are no chain. No auxiliary head, no dropping of paths.
/// **Throws** InputError for an image beyond `ImageLimits`, and for sizes below 1, beyond the limits or no multiples.
/// **Source** E. Real et al., "Regularized Evolution for Image Classifier Architecture Search", AAAI 2019,
/// arXiv:1802.01548. A normal cell puts out the states 0, 3, 4 and 6 as in TensorFlow's implementation, since only that
/// has the parameters that GPipe gives (Y. Huang et al., NeurIPS 2019, arXiv:1811.06965, table 1). Stem and channels
/// are those of torchgpipe's benchmark. Max pooling is maximum pooling as in TensorFlow (torchgpipe averages there).
[[nodiscard]] Architecture amoebanet(const std::string& name, const AmoebanetSize& size);

}  // namespace stagecraft
