#pragma once

#include <array>
#include <cstdint>

namespace stagecraft {

/// The precision of profiles and of speeds that name none.
inline constexpr const char* kPlainPrecision = "fp32";
/// The precisions in which layers can be timed and kinds of device can have a speed.
inline constexpr std::array<const char*, 5> kPrecisions{kPlainPrecision, "tf32", "fp16", "bf16", "fp8"};
/// The bytes of a parameter of computed models that do not state them.
inline constexpr std::int64_t kPlainParameterBytes = 4;

}  // namespace stagecraft
