#pragma once

#include "planners/director/stage_costs.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/all_reduces.hpp"
#include "planners/shared/costs/update_exchange.hpp"
#include "sim/base/quantity.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft::director {

/// How much more than alone a stage is thought to pay for what others may use at the same time.
struct Prices {
  double card = 1.0;        ///< of the bytes between nodes
  double all_reduce = 1.0;  ///< of the exchange of gradients
};

/// What stages cost on some devices of a platform that lie in one node or are spread over nodes, where nodes count as
/// equal and devices as slow as the slowest of them. All times are in seconds.
class NodeCosts {
 public:
  /// Of a stage with its devices.
  struct Stage {
    double forward = 0.0;  ///< of a microbatch or its largest share
    double pass = 0.0;     ///< forward and backward
    double load = 0.0;     ///< what its busiest replica computes, or exchanges, in an iteration
    double flush = 0.0;    ///< what its exchange of gradients and its update take beyond the last backward
  };

  /// `request` and `costs` must outlive it. **Throws** InputError if two of the devices are not connected.
  NodeCosts(const PlanRequest& request, const StageCosts& costs, const std::vector<DeviceId>& devices);

  [[nodiscard]] const StageCosts& layers() const { return costs_; }
  [[nodiscard]] std::size_t devices() const { return devices_; }
  [[nodiscard]] const std::vector<std::vector<DeviceId>>& nodes() const { return nodes_; }
  /// Devices of the largest node.
  [[nodiscard]] std::size_t node_size() const { return node_size_; }
  /// Seconds per byte between two devices of a node, and between two of different nodes.
  [[nodiscard]] double inside() const { return inside_; }
  [[nodiscard]] double card() const { return card_; }

  [[nodiscard]] Stage stage(std::size_t begin, std::size_t end, std::size_t replicas, bool divides, bool is_spread,
                            const Prices& prices) const;
  /// The time of an iteration of any stages without replicas, one microbatch after the other.
  [[nodiscard]] Seconds longest() const;
  /// Whether the parameters with their copies fit. If not, no stage with more layers before it does.
  [[nodiscard]] bool fits(std::size_t begin, std::size_t end, std::size_t replicas) const;

 private:
  void add_links(const PlanRequest& request);

  const PlanRequest& request_;
  const StageCosts& costs_;
  std::size_t devices_;
  std::vector<std::vector<DeviceId>> nodes_;
  std::size_t node_size_ = 1;
  bool hides_exchanges_;
  double factor_ = 0.0;    ///< of the slowest device
  double overhead_ = 0.0;  ///< the largest of a pass
  DeviceId slowest_to_update_;
  double inside_ = 0.0;
  double card_ = 0.0;
  Bytes capacity_;
  UpdateExchange exchange_;
  std::vector<AllReduceTime> packed_;  ///< by replicas, from 1 on: in one node
  std::vector<AllReduceTime> spread_;  ///< by replicas, from 1 on: over nodes
};

}  // namespace stagecraft::director
