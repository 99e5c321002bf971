#pragma once

#include "sim/workload/decoder.hpp"

#include <span>
#include <string>
#include <string_view>

namespace stagecraft {

/// A published decoder-only transformer.
struct DecoderNetwork {
  std::string_view name;
  std::string_view source;  ///< of the sizes and of the length of the sequences
  DecoderSize size;
};

/// All that are known by name, by family.
[[nodiscard]] std::span<const DecoderNetwork> decoder_networks();

[[nodiscard]] Architecture make_architecture(const DecoderNetwork& network);

}  // namespace stagecraft
