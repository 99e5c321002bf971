#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

namespace stagecraft {

/// A number that knows its unit, so that seconds are never added to bytes.
///
/// Only the arithmetic that makes physical sense compiles: sums of one unit, scaling by a bare number, the ratio of two
/// equal units (a bare number), and the quotients listed below the aliases.
template <class Tag, class Rep>
class Quantity {
 public:
  using rep = Rep;

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_(value) {}

  /// The bare number, in the unit's base (s, B, flop, B/s, flop/s).
  [[nodiscard]] constexpr Rep value() const { return value_; }

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator-(Quantity a) { return Quantity(-a.value_); }
  friend constexpr Quantity operator*(Quantity a, Rep k) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator*(Rep k, Quantity a) { return Quantity(k * a.value_); }
  friend constexpr auto operator<=>(Quantity a, Quantity b) = default;

 private:
  Rep value_{};
};

using Seconds = Quantity<struct SecondsTag, double>;
using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;

constexpr Seconds operator/(Seconds a, double k) { return Seconds(a.value() / k); }
constexpr BytesPerSecond operator/(BytesPerSecond a, double k) { return BytesPerSecond(a.value() / k); }
constexpr double operator/(Seconds a, Seconds b) { return a.value() / b.value(); }
constexpr Seconds operator/(Bytes a, BytesPerSecond b) { return Seconds(static_cast<double>(a.value()) / b.value()); }
constexpr Seconds operator/(Flops a, FlopsPerSecond b) { return Seconds(a.value() / b.value()); }

inline constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

/// `bytes` times `factor`, rounded up to a whole byte: the only rounding rule of the project.
/// A product that exceeds a whole number only by rounding noise (relative 1e-12) is taken as that whole number.
[[nodiscard]] inline Bytes scale_up(Bytes bytes, double factor) {
  const double exact = static_cast<double>(bytes.value()) * factor;
  const double nearest = std::round(exact);
  return Bytes(static_cast<std::int64_t>(exact - nearest > exact * 1e-12 ? std::ceil(exact) : nearest));
}

/// The `numerator`/`denominator` part of `bytes`, rounded up, in integers.
/// **Requires** denominator > 0; both at most 2^20 or so, since the product is formed in 128 bits.
[[nodiscard]] constexpr Bytes share_up(Bytes bytes, std::int64_t numerator, std::int64_t denominator) {
  __extension__ using Wide = __int128;
  const Wide product = Wide(bytes.value()) * numerator;
  return Bytes(static_cast<std::int64_t>((product + denominator - 1) / denominator));
}

}  // namespace stagecraft
