#pragma once

#include <cstdint>

namespace stagecraft {

/// The part of the way from one place to another that a transfer takes. A tensor that passes through host memory takes
/// its way in legs, one transfer each; the transfers name the two devices at the ends of the way.
enum class Leg : std::uint8_t {
  Whole,         ///< the whole way
  ToHost,        ///< from the sending device to its host
  BetweenHosts,  ///< from that host to the host of the receiving device
  FromHost,      ///< from there to the receiving device
};

/// Whether the transfer ends the way.
[[nodiscard]] constexpr bool is_last(Leg leg) { return leg == Leg::Whole || leg == Leg::FromHost; }
/// Whether another transfer has to come before it.
[[nodiscard]] constexpr bool is_continued(Leg leg) { return leg == Leg::BetweenHosts || leg == Leg::FromHost; }

}  // namespace stagecraft
