#pragma once

#include "sim/analytic/lower_bound.hpp"
#include "sim/analytic/sampled_run.hpp"
#include "sim/analytic/transfer_cost.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <cstdint>
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
  /// `run` must outlive it. Without `shares_links` only exclusive links count.
  Occupancy(const SampledRun& run, bool shares_links) : run_(run), cost_(run.platform()), shares_links_(shares_links) {}

  /// What the operation at a position of the run occupies. Valid until the next call.
  [[nodiscard]] std::span<const Occupied> of(std::size_t at);

  [[nodiscard]] const BoundCause& cause(std::size_t resource) const { return causes_[resource]; }

 private:
  /// By identifier of a lane or a link: its number among the resources, or none.
  using Numbers = std::vector<std::size_t>;
  [[nodiscard]] std::size_t number(Numbers& numbers, std::uint32_t id, const auto& cause);
  [[nodiscard]] BoundCause cause_of(const Op& op, const Lane& lane) const;
  void occupy_lane(const SampledOp& sampled, LaneId id);
  void occupy_links(const SampledOp& sampled);

  const SampledRun& run_;
  TransferCost cost_;
  bool shares_links_;
  Route route_;
  Numbers of_lane_;
  Numbers of_link_;
  std::vector<BoundCause> causes_;  ///< by resource
  std::vector<Occupied> parts_;
};

}  // namespace stagecraft
