#pragma once

#include "sim/workload/architecture.hpp"
#include "sim/workload/transformer.hpp"

#include <string>

namespace stagecraft {

/// Layers `embedding`, `positions`, `block0.attention`, `block0.mlp`, …, `output`; blocks `embedding`, `positions`,
/// `block0`, …. `positions` makes the encodings of 2s distances, which every attention half reads. One stream, no
/// memory of earlier segments, token types given: `XLNetModel` as it is fine-tuned. Post-normalisation; of `size`, the
/// field `positions` means nothing.
/// **Throws** InputError for sizes that do not fit together.
/// **Source** Z. Yang et al., "XLNet: Generalized Autoregressive Pretraining for Language Understanding", NeurIPS 2019,
/// arXiv:1906.08237; the operators are those of Hugging Face's `XLNetModel`.
[[nodiscard]] Architecture xlnet(const std::string& name, const TransformerSize& size);

}  // namespace stagecraft
