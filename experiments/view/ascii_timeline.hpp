#pragma once

#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace stagecraft {

/// A part of a run.
struct TimeRange {
  Seconds begin;
  Seconds end;
};

/// The operations that run at some time within the range.
[[nodiscard]] Timeline part_of(const Timeline& timeline, const TimeRange& range);

struct PictureOptions {
  std::size_t columns = 100;                       ///< the longest line
  bool transfers = false;                          ///< whether to draw rows for transfers, too
  std::optional<TimeRange> window = std::nullopt;  ///< the part of the run to draw; otherwise the last iteration
  bool colours = false;                            ///< whether kinds of operation have colours of a terminal
};

/// A run drawn in characters: a row for each device that computes, with time from left to right. A computation is its
/// letter and its microbatch (`F3`, `B0`), filled with dashes to its length; idle time is dots. Without a window, of
/// several iterations the last one is drawn. Computations shorter than a column are left out and counted below the
/// picture.
///
/// If a device runs more than one computation for every two columns, the picture is folded: each column shows the
/// letter of a kind that runs in it, or a dot, so that each has as many columns as its time fills. Of more than 40
/// devices, those that follow one another and look the same share a row, and if more than 40 rows are left, the first
/// and the last 20 are drawn. No line is longer than the columns: names are shortened and sentences broken.
///
/// **Cost** O(entries · log entries).
[[nodiscard]] std::string ascii_timeline(const Timeline& timeline, const Platform& platform,
                                         const PictureOptions& options);

/// The width of the terminal in columns if standard output is one, otherwise the environment variable COLUMNS, or 100.
[[nodiscard]] std::size_t terminal_columns();

}  // namespace stagecraft
