#pragma once

#include "experiments/view/ascii_timeline.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace stagecraft {

/// Rows that a picture has at most. Those of more devices are left out, and the picture says how many.
inline constexpr std::size_t kMostPictureRows = 64;

/// The computations of each device as an SVG image, for documents and slides: a row for each device, time from left to
/// right. Of more than 24 devices, one row stands for those next to each other that compute alike: `gpu0 +7`. The image
/// follows the light or dark setting of whoever looks at it. Where a device has more computations than half of the
/// units that a row is wide, rows are folded as `folded_cells` does: units are in proportion to the time of kinds. So a
/// picture has at most some 900 shapes in a row, and as much of a colour as its kind takes of the time.
/// **Cost** O(entries · log entries).
[[nodiscard]] std::string svg_timeline(const Timeline& timeline, const Platform& platform,
                                       const std::optional<TimeRange>& window);

}  // namespace stagecraft
