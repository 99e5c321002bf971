#pragma once

#include "sim/workload/decoder.hpp"

#include <span>
#include <string_view>

namespace stagecraft {

/// What the networks of a family have in common.
struct DecoderFamily {
  std::string_view name;  ///< `family` of an architecture file
  std::string_view source;
  DecoderSize usual;  ///< its form; a size that its networks do not have in common is left at 0
};

/// `llama`, `mistral`, `qwen2`, `qwen3`, `mixtral`, `deepseek`, `neox`, `falcon`, `opt`, `bloom`.
[[nodiscard]] std::span<const DecoderFamily> decoder_families();

/// The family of that name. **Requires** one.
[[nodiscard]] const DecoderFamily& decoder_family(std::string_view name);

}  // namespace stagecraft
