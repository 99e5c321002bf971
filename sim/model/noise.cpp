#include "sim/model/noise.hpp"

#include <cmath>
#include <variant>

namespace stagecraft {
namespace {

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a permutation in which each bit depends on all.
std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

/// e^x for |x| < 100: a power of two times Taylor's series.
double exponential(double x) {
  constexpr double kLog2 = 0.693147180559945309;
  const double halves = std::floor(x / kLog2 + 0.5);
  const double rest = x - halves * kLog2;  // |rest| < 0.35
  double sum = 1.0;
  for (int k = 15; k >= 1; --k) sum = 1.0 + sum * rest / k;
  return std::ldexp(sum, static_cast<int>(halves));
}

}  // namespace

/// By the series of the inverse hyperbolic tangent, of (m - 1) / (m + 1) with the significand m of `x`.
double logarithm(double x) {
  constexpr double kLog2 = 0.693147180559945309;
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // in [0.5, 1)
  if (m < 0.7071067811865476) {
    m *= 2.0;
    --exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);  // |s| < 0.172
  double sum = 0.0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * s * s + 1.0 / k;
  return exponent * kLog2 + 2.0 * s * sum;
}

double normal_quantile(double share) {
  const double q = share - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * (((59.10937472 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
           (((67.1875636 * r + 78.757757664) * r + 17.895169469) * r + 1.0);
  }
  const double tail = q < 0.0 ? share : 1.0 - share;
  const double root = std::sqrt(-logarithm(tail));
  double z = 0.0;
  if (root <= 5.0) {
    const double r = root - 1.6;
    z = (((0.17023821103 * r + 1.3067284816) * r + 2.75681539) * r + 1.4234372777) /
        ((0.12021132975 * r + 0.7370016425) * r + 1.0);
  } else {
    const double r = root - 5.0;
    z = (((0.017337203997 * r + 0.42868294337) * r + 3.081226386) * r + 6.657905115) /
        ((0.012258202635 * r + 0.24197894225) * r + 1.0);
  }
  return q < 0.0 ? -z : z;
}

double noise_factor(const Jitter& jitter, const Op& op, DeviceId device) {
  std::uint64_t bits = mix_seeds(jitter.seed, (std::uint64_t{device.value()} << 32U) | op.microbatch);
  bits = mix_seeds(bits, (std::uint64_t{static_cast<std::uint8_t>(op.kind)} << 32U) | op.chunk);
  return lognormal_factor(jitter.sigma, bits);
}

double lognormal_factor(double sigma, std::uint64_t bits) {
  const double share = (static_cast<double>(bits >> 12U) + 0.5) * 0x1p-52;
  return exponential(sigma * normal_quantile(share));
}

std::uint64_t mix_seeds(std::uint64_t a, std::uint64_t b) { return scramble(scramble(a + 0x9E3779B97F4A7C15U) ^ b); }

Events with_noise_seed(Events events, std::uint64_t number) {
  for (Event& event : events) {
    if (auto* jitter = std::get_if<Jitter>(&event.change)) jitter->seed = mix_seeds(jitter->seed, number);
  }
  return events;
}

bool is_noise_from_the_start(const Event& event) {
  return std::holds_alternative<Jitter>(event.change) && !event.at_microbatch && event.at <= Seconds(0);
}

}  // namespace stagecraft
