#pragma once

#include "sim/analytic/lower_bound.hpp"
#include "sim/analytic/occupancy.hpp"
#include "sim/analytic/residences.hpp"
#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/op_graph.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stagecraft {

struct Plan;

/// The bound of an asynchronous run, per microbatch in the long run: what the busiest lane or link does for it, and the
/// time for which it is in flight on a replica, divided by how many are. Of a stage whose memory actions cover only some
/// microbatches the windows that the run ends within do not count: they begin with those that take longest.
class PeriodBound {
 public:
  /// `occupancy` and `plan`, that of the run, must outlive it. `in_flight`: by stage, the most on a replica; empty if
  /// that is not known.
  PeriodBound(Occupancy& occupancy, const Plan& plan, std::vector<std::int64_t> in_flight);

  /// Takes the next operation with its lanes beyond the first one.
  void add(const Op& op, std::span<const LaneId> extra);
  [[nodiscard]] LowerBound finish(const Residences& residences) const;
  /// The microbatches of whole rounds, which are those that count; 0 if the run is too short.
  [[nodiscard]] std::int64_t counted() const { return counted_; }

 private:
  [[nodiscard]] bool counts(const Op& op) const;
  [[nodiscard]] std::int64_t counted_of(StageId stage) const {
    return stage.is_none() ? counted_ : counted_of_[stage.value()];
  }

  Occupancy& occupancy_;
  const Plan& plan_;
  std::vector<std::int64_t> in_flight_;
  std::int64_t counted_;
  std::vector<std::int64_t> counted_of_;  ///< by stage, at most `counted_`
  std::vector<Seconds> sums_;             ///< by resource
};

}  // namespace stagecraft
