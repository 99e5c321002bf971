#pragma once

#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

#include <cstddef>
#include <string>

namespace stagecraft {

struct PictureOptions {
  std::size_t columns = 100;  ///< that a line may take
  bool transfers = false;     ///< whether there are rows for transfers, too
};

/// A run drawn in characters: a row for each device that computes, time to the right, each computation its letter and
/// its microbatch (`F3`, `B0`), filled with dashes to its length; idle time is dots. With several iterations the last
/// one is drawn. Computations shorter than a column are left out and counted below the picture.
///
/// **Returns** a sentence that says what would fit, instead, for a run of more computations than can be told apart: one
/// for every two columns.
/// **Cost** O(entries · log entries).
[[nodiscard]] std::string ascii_timeline(const Timeline& timeline, const Platform& platform,
                                         const PictureOptions& options);

/// Columns of the terminal that standard output is, or 100 if it is none.
[[nodiscard]] std::size_t terminal_columns();

}  // namespace stagecraft
