#pragma once

#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/model/timeline.hpp"

#include <cstdint>
#include <queue>
#include <span>
#include <vector>

namespace stagecraft {

/// Follows the bytes in use at each place over a run and keeps the peaks. At one instant, operations that end free
/// their memory before operations that start take theirs. Dates that differ by rounding are one instant.
///
/// Spans arrive in the order of their starts, so memory that a span frees at its end is put into a queue, and is freed
/// when a later span at that place starts.
class MemoryFold {
 public:
  /// Appends every change to `course`, unless it is null; it must outlive the fold.
  explicit MemoryFold(const Platform& platform, MemoryCourse* course = nullptr);

  /// **Requires** the spans with deltas of any one place in the order of their starts.
  void add(const Span& span, std::span<const MemoryDelta> deltas);
  /// From `at` on the place has that capacity. **Requires** an order as that of spans.
  void set_capacity(PlaceId id, Bytes capacity, Seconds at);
  /// All places free everything at `at`. **Requires** an order as that of spans.
  void clear(Seconds at);
  /// The run ends.
  void finish();

  /// At the instant at which the place has the least memory left, or lacks the most.
  [[nodiscard]] const MemoryPeak& peak(PlaceId place) const { return places_[place.value()].peak; }
  /// When the place first held more than its capacity; `kNever` if it never did.
  [[nodiscard]] Seconds first_overflow(PlaceId place) const { return places_[place.value()].first_overflow; }
  /// From when on it held no more than that; `kNever` if it still held more in the end. **Requires** a run that has
  /// ended, and an overflow.
  [[nodiscard]] Seconds last_overflow(PlaceId place) const { return places_[place.value()].last_overflow; }

 private:
  struct Release {
    Seconds at;
    std::uint64_t order = 0;  ///< at equal instants first in, first out, so that every run adds in the same order
    MemoryCategory category = MemoryCategory::Stash;
    Bytes bytes;
    friend bool operator>(const Release& a, const Release& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; }
  };
  struct PlaceState {
    PlaceId id;
    MemoryBreakdown in_use{};
    Bytes total;
    Bytes capacity;
    MemoryPeak peak;
    Seconds first_overflow = kNever;
    Seconds last_overflow = kNever;
    std::priority_queue<Release, std::vector<Release>, std::greater<>> releases;
  };
  void change(PlaceState& place, MemoryCategory category, Bytes bytes, Seconds at);
  static void judge(PlaceState& place, Seconds at);
  void release_until(PlaceState& place, Seconds now);

  std::vector<PlaceState> places_;
  std::uint64_t next_order_ = 0;
  MemoryCourse* course_;
};

}  // namespace stagecraft
