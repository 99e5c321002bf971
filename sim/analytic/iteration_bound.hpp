#pragma once

#include "sim/analytic/lower_bound.hpp"
#include "sim/analytic/occupancy.hpp"
#include "sim/analytic/residences.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/op_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft {

/// The bound of an iteration, from its operations and what they need of each other, without the order of any lane.
///
/// The *head* of an operation is the longest chain of operations before it, its *tail* the longest chain from its end
/// to that of the iteration. On each lane and link the operations take turns, so `least_completion` of their heads,
/// times and tails bounds the iteration. So does the longest chain. And the microbatches in flight on a replica stay
/// there between the least head of a forward and the least tail of a backward, no more at a time than its cap.
class IterationBound {
 public:
  /// `occupancy` must outlive it. `in_flight`: by stage, the most on a replica; empty if that is not known.
  IterationBound(Occupancy& occupancy, std::vector<std::int64_t> in_flight)
      : occupancy_(occupancy), in_flight_(std::move(in_flight)) {}

  /// Takes the next operation with what it waits for and its lanes beyond the first one. Returns false if the
  /// operations are too many to be kept.
  [[nodiscard]] bool add(const Op& op, std::span<const OpId> needs, std::span<const LaneId> extra);
  /// **Requires** the residences of all operations that were added.
  [[nodiscard]] LowerBound finish(const Residences& residences, std::int64_t microbatches);

 private:
  struct Entry {
    Op op;
    Seconds time;
    Seconds head;
    Seconds tail{-1.0};  ///< negative: the iteration does not wait for it
    std::uint32_t dependency_end = 0;
    std::uint32_t extra_end = 0;
  };
  void find_tails();
  void raise_to_resources(LowerBound& bound);
  void raise_to_in_flight(LowerBound& bound, const Residences& residences, std::int64_t microbatches) const;
  /// What lies before an operation in a flat list with ends.
  [[nodiscard]] std::span<const OpId> dependencies_of(std::size_t at) const;
  [[nodiscard]] std::span<const LaneId> extra_of(std::size_t at) const;

  Occupancy& occupancy_;
  std::vector<std::int64_t> in_flight_;
  std::vector<Entry> entries_;  ///< by number
  std::vector<OpId> dependencies_;
  std::vector<LaneId> extra_;
};

}  // namespace stagecraft
