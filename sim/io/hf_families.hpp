#pragma once

#include "sim/io/hf_keys.hpp"
#include "sim/workload/decoder.hpp"

#include <span>
#include <string>
#include <string_view>

namespace stagecraft {

/// How the files of one `model_type` are read.
struct HfFamily {
  std::string_view model_type;
  std::string_view family;  ///< whose form the network has, of `decoder_families`; empty: that of `gpt`
  /// Takes the keys into a size that has the family's form, but for `sequence`. None: `read_hf_vit` reads the file.
  void (*fill)(HfKeys& keys, DecoderSize& size);
};

/// In the order of their names.
[[nodiscard]] std::span<const HfFamily> hf_families();

/// The dialect of simulators: `layer_num`, `head_num`, … It has the form of Llama.
void fill_simulator_dialect(HfKeys& keys, DecoderSize& size);

/// **Throws** InputError if the file has another activation than GELU.
void require_hf_gelu(HfKeys& keys);

}  // namespace stagecraft
