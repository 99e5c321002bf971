#pragma once

#include "sim/workload/architecture.hpp"

#include <cstdint>
#include <string>

namespace stagecraft {

/// The numbers that make a GNMT.
struct GnmtSize {
  std::int64_t layers = 4;  ///< LSTM layers of the encoder, and of the decoder; at least 2
  std::int64_t hidden = 1024;
  std::int64_t sequence = 50;        ///< tokens that the encoder reads
  std::int64_t target_sequence = 0;  ///< tokens that the decoder reads; 0: as many
  std::int64_t vocabulary = 32320;
  bool shared_embedding = true;  ///< the decoder's table is a copy of the encoder's
  friend bool operator==(const GnmtSize&, const GnmtSize&) = default;
};

/// The most of each size: within these no count of one operator exceeds 2^60.
constexpr GnmtSize largest_gnmt() {
  return {.layers = 1024,
          .hidden = 1 << 16,
          .sequence = 1 << 16,
          .target_sequence = 1 << 16,
          .vocabulary = 1 << 22,
          .shared_embedding = true};
}

/// Layers `encoder.embedding`, `encoder.lstm0` (bidirectional), `encoder.lstm1`, …, `decoder.embedding`,
/// `decoder.lstm0`, `decoder.attention`, `decoder.lstm1`, …, `head`; a block is a layer, the attention part of
/// `decoder.lstm0`. Dropout before each LSTM; residual connections around the third layer and those after it of either
/// side; the context that the attention makes goes into every further decoder layer. The head has a table of its own.
/// **Throws** InputError for sizes out of bounds.
/// **Source** Y. Wu et al., "Google's Neural Machine Translation System", 2016, arXiv:1609.08144; the variant and the
/// operators of NVIDIA's GNMT v2 (normed Bahdanau attention between the decoder's first two layers), MLPerf Training
/// 0.5 to 0.7.
[[nodiscard]] Architecture gnmt(const std::string& name, const GnmtSize& size);

}  // namespace stagecraft
