#pragma once

#include "sim/model/events.hpp"
#include "sim/model/op_graph.hpp"

#include <cstdint>

namespace stagecraft {

/// The factor by which noise multiplies the duration of a computation on `device`: e^(sigma · z), with z from the
/// standard normal distribution, so that its median is 1 and its mean e^(sigma² / 2). It is exactly 1 for sigma 0.
///
/// z depends only on the jitter's seed, the device's number, and the operation's kind, microbatch and chunk. So it is
/// the same in whatever order operations run and for every plan. All steps of one backward share it. It is computed
/// with additions, multiplications, divisions and roots only, which round the same way on every machine.
/// **Requires** a sigma that is not above `kLargestSigma`.
[[nodiscard]] double noise_factor(const Jitter& jitter, const Op& op, DeviceId device);

/// e^(sigma · z), with the z of the standard normal distribution at the share that the upper 52 of the random `bits`
/// choose. **Requires** a sigma that is not above `kLargestSigma`.
[[nodiscard]] double lognormal_factor(double sigma, std::uint64_t bits);

/// The largest sigma. With it one computation in forty takes 50 times its time or longer; more is not realistic.
inline constexpr double kLargestSigma = 2.0;

/// The quantile of the standard normal distribution at `share`, which is strictly between 0 and 1; about seven digits.
/// **Source** M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics
/// 37(3), 1988: PPND7.
[[nodiscard]] double normal_quantile(double share);

/// The natural logarithm, the same on every machine. **Requires** a positive number.
[[nodiscard]] double logarithm(double x);

/// A seed made of both numbers. For a fixed `a`, each `b` gives a different one.
[[nodiscard]] std::uint64_t mix_seeds(std::uint64_t a, std::uint64_t b);

/// The events with the noise of run number `number`: each jitter's seed is mixed with it.
[[nodiscard]] Events with_noise_seed(Events events, std::uint64_t number);

/// Whether the event is noise that starts with the run.
[[nodiscard]] bool is_noise_from_the_start(const Event& event);

}  // namespace stagecraft
