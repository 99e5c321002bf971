#pragma once

#include "sim/model/events.hpp"
#include "sim/model/op_graph.hpp"

#include <cstdint>

namespace stagecraft {

/// What the duration of a computation on `device` is multiplied by: e^(sigma · z), with z of the standard normal
/// distribution, so that its median is 1 and its mean e^(sigma² / 2). Exactly 1 for sigma 0.
///
/// z is a function of the jitter's seed, the device's number, the operation's kind, microbatch and chunk, and of
/// nothing else: whoever asks, in whatever order and for whichever plan, gets the same. All pieces of one backward
/// share it. It takes additions, multiplications, divisions and roots only, which round alike everywhere.
/// **Requires** a sigma that is not above `kLargestSigma`.
[[nodiscard]] double noise_factor(const Jitter& jitter, const Op& op, DeviceId device);

/// More would be no noise of a training step: with this, one computation in forty takes 50 times its time or longer.
inline constexpr double kLargestSigma = 2.0;

/// Where the standard normal distribution reaches `share`, which is strictly between 0 and 1, to about seven digits.
/// **Source** M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics
/// 37(3), 1988: PPND7.
[[nodiscard]] double normal_quantile(double share);

/// A seed that follows from both: for any `a`, another one for each `b`.
[[nodiscard]] std::uint64_t mix_seeds(std::uint64_t a, std::uint64_t b);

/// The events with the noise of run number `number`: each jitter's seed is mixed with it.
[[nodiscard]] Events with_noise_seed(Events events, std::uint64_t number);

/// Whether the event is noise that the whole run has.
[[nodiscard]] bool is_noise_from_the_start(const Event& event);

}  // namespace stagecraft
