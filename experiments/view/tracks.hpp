#pragma once

#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft {

/// A row of a trace: operations of one stream of a place that do not overlap.
struct Track {
  PlaceId place;  ///< whose computations they are, or which sends; of copies between a device and a host the device
  OpKind kind = OpKind::Forward;  ///< of the transfers; `Forward` stands for all computations
  Leg leg = Leg::Whole;
  std::uint32_t row = 0;  ///< among those of the stream
  friend auto operator<=>(const Track&, const Track&) = default;
};

/// The tracks of a run. Streams whose operations overlap take as many rows as they need.
struct Tracks {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<Track> tracks;            ///< in ascending order
  std::vector<std::uint32_t> of_entry;  ///< by entry of the timeline: its track; `kNone` for marks, which take no time
};

/// **Cost** O(entries · (log entries + rows of a stream)).
[[nodiscard]] Tracks tracks_of(const Timeline& timeline, const Platform& platform);

/// `compute`, `activation`, `activation to host`, `swap-out 2`, …
[[nodiscard]] std::string name_of(const Track& track);

}  // namespace stagecraft
