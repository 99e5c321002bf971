#pragma once

#include "sim/base/index.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/timeline.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace stagecraft {

using TimeInterval = std::pair<Seconds, Seconds>;

/// The parts of [begin, end) that the intervals cover together, in order and without overlap.
[[nodiscard]] std::vector<TimeInterval> covered(std::vector<TimeInterval> intervals, Seconds begin, Seconds end);

/// When a device took part in collectives, as far as idle time still to come may lie within.
struct CollectivePast {
  std::vector<TimeInterval> stays;      ///< from begin to end of each collective
  std::vector<TimeInterval> exchanges;  ///< when the device sent or received in one

  void forget_until(Seconds end) {
    for (std::vector<TimeInterval>* past : {&stays, &exchanges}) {
      if (!past->empty()) std::erase_if(*past, [&](const TimeInterval& interval) { return interval.second <= end; });
    }
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
