#pragma once

#include <array>

namespace stagecraft {

/// The precision of profiles and of speeds that name none.
inline constexpr const char* kPlainPrecision = "fp32";
/// The precisions in which layers can be timed and kinds of device can have a speed.
inline constexpr std::array<const char*, 4> kPrecisions{kPlainPrecision, "tf32", "fp16", "bf16"};

}  // namespace stagecraft
