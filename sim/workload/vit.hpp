#pragma once

#include "sim/workload/architecture.hpp"

#include <cstdint>
#include <string>

namespace stagecraft {

/// The numbers that make a Vision Transformer.
struct VitSize {
  std::int64_t layers = 12;   ///< blocks
  std::int64_t hidden = 768;  ///< a multiple of `heads`
  std::int64_t heads = 12;
  std::int64_t feed_forward = 0;  ///< inner size of the MLP; 0: four times `hidden`
  std::int64_t patch = 16;        ///< pixels along an edge of a patch, at most `image`
  std::int64_t image = 224;       ///< pixels along an edge; what is left of it beside whole patches is not read
  std::int64_t channels = 3;      ///< of the image
  std::int64_t classes = 1000;
  bool qkv_bias = true;  ///< of queries, keys and values
  friend bool operator==(const VitSize&, const VitSize&) = default;
};

/// The most of each size: within these no count of one operator exceeds 2^60.
constexpr VitSize largest_vit() {
  return {.layers = 4096,
          .hidden = 1 << 17,
          .heads = 1 << 17,
          .feed_forward = 1 << 19,
          .patch = 1 << 10,
          .image = 1 << 10,
          .channels = 1 << 10,
          .classes = 1 << 20};
}

/// Layers `embedding` (patches, class token, positions), `block0.attention`, `block0.mlp`, …, `head` (last norm, one
/// linear layer on the class token); blocks `embedding`, `block0`, …: chains. Pre-normalisation, GELU, fused attention
/// of all tokens to all.
/// **Throws** InputError for sizes below 1, above the largest, or that do not fit together.
/// **Source** A. Dosovitskiy et al., "An Image is Worth 16x16 Words", ICLR 2021, arXiv:2010.11929; the operators are
/// those of torchvision's `VisionTransformer`.
[[nodiscard]] Architecture vit(const std::string& name, const VitSize& size);

}  // namespace stagecraft
