#pragma once

#include "sim/base/quantity.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace stagecraft {

/// Something that happens at a date.
struct Appointment {
  enum class What : std::uint8_t { Complete, Wake, LatencyPaid, LastByte };

  Seconds at;
  std::uint64_t order = 0;   ///< at equal dates, first in, first out
  std::uint64_t number = 0;  ///< operation, token or transfer
  std::uint32_t generation = 0;
  What what = What::Complete;
  friend bool operator>(const Appointment& a, const Appointment& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }
};

/// The present time, and the future dates that do not depend on how flows share links.
class Agenda {
 public:
  [[nodiscard]] Seconds now() const { return now_; }
  /// Time never goes back: an earlier date changes nothing.
  void advance(Seconds to) { now_ = std::max(now_, to); }

  /// Adds a date. A date in the past is taken as now; one at `kNever` is not added.
  void add(Seconds at, Appointment::What what, std::uint64_t number, std::uint32_t generation) {
    if (at < kNever) heap_.push({std::max(at, now_), next_order_++, number, generation, what});
  }
  [[nodiscard]] bool is_empty() const { return heap_.empty(); }
  /// The earliest date. **Requires** that there is one; so does `take`.
  [[nodiscard]] Seconds next() const { return heap_.top().at; }
  Appointment take() {
    const Appointment first = heap_.top();
    heap_.pop();
    return first;
  }

 private:
  Seconds now_;
  std::priority_queue<Appointment, std::vector<Appointment>, std::greater<>> heap_;
  std::uint64_t next_order_ = 0;
};

}  // namespace stagecraft
