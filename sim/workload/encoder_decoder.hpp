#pragma once

#include "sim/workload/architecture.hpp"

#include <cstdint>
#include <string>

namespace stagecraft {

/// The numbers that make a transformer with an encoder and a decoder. None may exceed `largest_transformer`.
struct EncoderDecoderSize {
  std::int64_t layers = 6;          ///< blocks of the encoder
  std::int64_t decoder_layers = 0;  ///< 0: as many
  std::int64_t hidden = 512;
  std::int64_t heads = 8;
  std::int64_t head_size = 0;        ///< 0: `hidden` / `heads`, then a whole number
  std::int64_t feed_forward = 0;     ///< 0: four times `hidden`
  std::int64_t sequence = 128;       ///< tokens that the encoder reads
  std::int64_t target_sequence = 0;  ///< tokens that the decoder reads; 0: as many
  std::int64_t vocabulary = 37000;   ///< of one table for encoder, decoder and head
  friend bool operator==(const EncoderDecoderSize&, const EncoderDecoderSize&) = default;
};

/// Where the normalisation of a half of a block stands.
enum class NormPlace {
  After,   ///< the residual addition, as in the paper
  Before,  ///< the half; each side ends with one more normalisation, and the MLP has a second dropout
};

/// Layers `encoder.embedding`, `encoder.block0.attention`, `encoder.block0.mlp`, …, `decoder.embedding`,
/// `decoder.block0.attention`, `decoder.block0.cross_attention`, `decoder.block0.mlp`, …, `head`; blocks
/// `encoder.block0`, …. The last encoder block feeds every cross-attention; with the normalisation before the halves,
/// it is `encoder.norm`. Sinusoidal positions, attention without biases; dropout in the attention too, as in
/// Tensor2Tensor.
/// **Throws** InputError for sizes that do not fit together.
/// **Source** A. Vaswani et al., "Attention Is All You Need", NeurIPS 2017, arXiv:1706.03762; `NormPlace::Before`: the
/// operators of NVIDIA's fairseq with `encoder_normalize_before` and `decoder_normalize_before`, which vPipe
/// partitions.
[[nodiscard]] Architecture encoder_decoder(const std::string& name, const EncoderDecoderSize& size,
                                           NormPlace norm = NormPlace::After);

/// The same layers and `encoder.norm`, which feeds every cross-attention in place of the last block. Pre-normalisation
/// by root mean square, no biases, a relative position bias in every self-attention. Its table is the first block's;
/// the other blocks hold tied copies, as each stage of a pipeline must (Hugging Face computes the bias once and hands
/// it on).
/// **Throws** InputError for sizes that do not fit together.
/// **Source** C. Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
/// JMLR 2020, arXiv:1910.10683; the operators are those of Hugging Face's `T5ForConditionalGeneration`.
[[nodiscard]] Architecture t5(const std::string& name, const EncoderDecoderSize& size);

}  // namespace stagecraft
