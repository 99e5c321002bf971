#include "experiments/view/trace_content.hpp"

#include <doctest/doctest.h>

#include <tuple>
#include <vector>

namespace stagecraft {
namespace {

/// An operation of a slice on track 0 or 1.
TimelineEntry op(std::uint64_t id, double start, double end) {
  TimelineEntry entry;
  entry.id = OpId(id);
  entry.start = Seconds(start);
  entry.end = Seconds(end);
  return entry;
}

using Seen = std::vector<std::tuple<double, std::uint32_t, bool>>;

Seen events(const Timeline& timeline, const std::vector<std::uint32_t>& tracks) {
  TraceContent content;
  content.tracks.resize(2);
  for (std::uint32_t i = 0; i < tracks.size(); ++i) content.slices.push_back({i, tracks[i]});
  Seen seen;
  for (const SliceEvent& event : slice_events(content, timeline, 10.0)) {
    seen.emplace_back(event.at, event.slice, event.is_end);
  }
  return seen;
}

TEST_CASE("export: slices of a track that rounding makes overlap follow one another") {
  // In tenths: [0, 1.5) and [1.4, 3) are rounded to [0, 2) and [1, 3); the second starts where the first ends.
  CHECK(events({op(0, 0.0, 0.15), op(1, 0.14, 0.3)}, {0, 0}) ==
        Seen{{0, 0, false}, {2, 0, true}, {2, 1, false}, {3, 1, true}});
  // On two tracks they may overlap.
  CHECK(events({op(0, 0.0, 0.15), op(1, 0.14, 0.3)}, {0, 1}) ==
        Seen{{0, 0, false}, {1, 1, false}, {2, 0, true}, {3, 1, true}});
}

TEST_CASE("export: at one date slices end, then those of no length run, then what waits for them starts") {
  CHECK(events({op(2, 0.2, 0.3), op(1, 0.2, 0.2), op(0, 0.1, 0.2)}, {1, 0, 0}) ==
        Seen{{1, 2, false}, {2, 2, true}, {2, 1, false}, {2, 1, true}, {2, 0, false}, {3, 0, true}});
}

}  // namespace
}  // namespace stagecraft
