#pragma once

#include "sim/analytic/lower_bound.hpp"
#include "sim/analytic/transfer_cost.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/replicas.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace stagecraft {

/// What an operation occupies for a while: a lane, or a link.
struct Occupied {
  std::size_t resource = 0;
  Seconds latency;  ///< that passes before
  Seconds time;     ///< for which it takes the whole of it
};

/// Tells what the operations of a run occupy. Resources are numbered as they are met.
class Occupancy {
 public:
  /// `platform` and `replicas` must outlive it. Without `shares_links` only exclusive links count.
  Occupancy(const Platform& platform, const Replicas& replicas, bool shares_links);

  void add_lanes(const std::vector<Lane>& lanes);
  /// How long the operation takes at least.
  [[nodiscard]] Seconds time_of(const Op& op) { return is_transfer(op.kind) ? cost_(op) : op.seconds; }
  /// What it occupies. `extra`: its lanes beyond the first one. Valid until the next call.
  [[nodiscard]] std::span<const Occupied> of(const Op& op, std::span<const LaneId> extra);

  [[nodiscard]] std::size_t resources() const { return causes_.size(); }
  [[nodiscard]] const BoundCause& cause(std::size_t resource) const { return causes_[resource]; }
  [[nodiscard]] const Replicas& replicas() const { return replicas_; }
  /// The replica to which a computation belongs.
  [[nodiscard]] ReplicaId replica_of(const Op& op) const { return replicas_.on(platform_.device(op.from))[op.chunk]; }
  /// Whether the lane takes its operations in the order in which they were appended.
  [[nodiscard]] bool is_strict(LaneId lane) const {
    return !lane.is_none() && lanes_[lane.value()].discipline == Discipline::Strict;
  }

 private:
  [[nodiscard]] BoundCause cause_of(const Op& op, const Lane& lane) const;
  void occupy_lane(const Op& op, LaneId id, Seconds time);
  void occupy_links(const Op& op, Seconds time);

  const Platform& platform_;
  const Replicas& replicas_;
  bool shares_links_;
  TransferCost cost_;
  Route route_;
  std::vector<Lane> lanes_;
  std::map<std::uint32_t, std::size_t> of_lane_;
  std::map<std::uint32_t, std::size_t> of_link_;
  std::vector<BoundCause> causes_;  ///< by resource
  std::vector<Occupied> parts_;
};

}  // namespace stagecraft
