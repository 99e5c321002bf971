#pragma once

#include "sim/base/index.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/timeline.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

namespace stagecraft {

using TimeInterval = std::pair<Seconds, Seconds>;

/// Intervals, also equal ones. A collective may have ended after many computations still to come, so there may be
/// thousands: all that is done for each computation looks at the earliest only.
class TimeIntervals {
 public:
  TimeIntervals() = default;
  TimeIntervals(std::initializer_list<TimeInterval> intervals) {
    for (const TimeInterval& interval : intervals) add(interval);
  }

  /// Cheap if few begin later.
  void add(const TimeInterval& interval);
  /// What ended by then may be forgotten: nothing before it is asked for anymore.
  void forget_until(Seconds time);
  void clear() {
    by_begin_.clear();
    forgotten_ = 0;
  }
  /// The parts of [begin, end) that the intervals cover together, in order and without overlap.
  [[nodiscard]] std::vector<TimeInterval> covered(Seconds begin, Seconds end) const;

 private:
  std::vector<TimeInterval> by_begin_;
  std::ptrdiff_t forgotten_ = 0;  ///< of the first ones
};

/// When a device took part in collectives, as far as idle time still to come may lie within.
struct CollectivePast {
  TimeIntervals stays;      ///< from begin to end of each collective
  TimeIntervals exchanges;  ///< when the device sent or received in one

  void forget_until(Seconds time) {
    stays.forget_until(time);
    exchanges.forget_until(time);
  }
  void clear() {
    stays.clear();
    exchanges.clear();
  }
};

/// A collective under way.
struct Collective {
  Seconds begin = kNever;
  std::vector<TimeInterval> latencies;  ///< of its phases
  std::vector<std::uint32_t> members;   ///< as the caller numbers devices
};

/// The collectives that have begun and not ended yet.
class CollectivesUnderWay {
 public:
  /// A member sends in the collective. Every member does, once or more.
  void add_member(const Op& flow, std::uint32_t member) { of(flow).members.push_back(member); }
  /// Each begin after the first starts a further phase.
  void begin(const Op& mark, const Span& span);
  /// Takes out the collective, with each member once, by increasing number.
  [[nodiscard]] Collective end(const Op& mark);

 private:
  Collective& of(const Op& op) { return under_way_[{op.stage, op.chunk}]; }

  std::map<std::pair<StageId, std::uint16_t>, Collective> under_way_;  ///< by the first member's stage and the number
};

}  // namespace stagecraft
