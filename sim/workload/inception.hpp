#pragma once

#include "sim/workload/architecture.hpp"

#include <cstdint>
#include <string>

namespace stagecraft {

/// Inception-v3 at an image size of one's own.
struct InceptionSize {
  std::int64_t image = 299;  ///< pixels along an edge; at least 299 with the auxiliary head, 75 without
  std::int64_t classes = 1000;
  bool auxiliary = true;  ///< the second classifier, which training uses and inference drops
  friend bool operator==(const InceptionSize&, const InceptionSize&) = default;
};

/// Layers `Conv2d_1a_3x3`, …, for each module its convolutions (`Mixed_5b.branch1x1`), its pooling and its
/// concatenation
/// (`Mixed_5b.concat`), `AuxLogits.*`, then `avgpool` (with the dropout) and `fc`; a convolution's layer holds its
/// batch normalisation and ReLU. Blocks `stem`, the eleven modules, `head`: a chain, since the auxiliary head belongs
/// to `Mixed_6e`, whose output it reads. Neither head has a loss.
/// **Throws** InputError for an image that is too small, and for sizes below 1 or beyond `ImageLimits`.
/// **Source** C. Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", CVPR 2016,
/// arXiv:1512.00567; the modules are torchvision's.
[[nodiscard]] Architecture inception_v3(const std::string& name, const InceptionSize& size);

}  // namespace stagecraft
