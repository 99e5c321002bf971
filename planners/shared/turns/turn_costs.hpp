#pragma once

#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft {

struct Plan;

/// For each stage, by turn: the position of the replica in the plan's own order.
using Turns = std::vector<std::vector<std::uint32_t>>;

/// Two stages whose orders of turns matter to each other.
struct StageTraffic {
  std::size_t from = 0;
  std::size_t to = 0;
  Bytes bytes;                        ///< for a microbatch
  bool split = false;                 ///< whether both divide each microbatch; else both take turns
  std::int64_t weight = 0;            ///< of the smallest part, a microbatch of a common round or a share
  std::vector<std::uint32_t> prices;  ///< of a weight of 1, by position in `from`, then in `to`
};

/// What orders of turns cost: for each pair of replicas that exchange something, the bytes divided by the bandwidth of
/// the narrowest link between them (in the slower direction), in an arbitrary unit. Costs are whole numbers, so that
/// equal ones are equal whatever the order of their sums.
class TurnCosts {
 public:
  /// `plan` must outlive it. **Requires** a plan that covers the graph. **Cost** a route each way for each pair of
  /// replicas of two stages that exchange tensors. Pairs of stages with more than 2^22 of these are ignored.
  TurnCosts(const LayerGraph& graph, const Platform& platform, const Plan& plan);

  [[nodiscard]] const std::vector<StageTraffic>& exchanges() const { return exchanges_; }
  [[nodiscard]] std::size_t replicas(std::size_t stage) const;
  [[nodiscard]] std::int64_t total(const Turns& turns) const;
  /// No order costs less: as if all replicas exchanged over the cheapest pair.
  [[nodiscard]] std::int64_t least() const;
  /// The cost of each replica of the stage at each turn, of all exchanges with stages for which `counts` is set.
  /// **Shape** entry turn * replicas + position in the plan's own order.
  [[nodiscard]] std::vector<std::int64_t> costs(std::size_t stage, const Turns& turns,
                                                const std::vector<char>& counts) const;

 private:
  [[nodiscard]] double parts(const StageTraffic& exchange) const;
  void fill_prices(const Platform& platform);
  [[nodiscard]] std::vector<std::int64_t> costs_of(const StageTraffic& exchange, std::size_t stage,
                                                   const Turns& turns) const;

  const Plan& plan_;
  std::vector<StageTraffic> exchanges_;
};

}  // namespace stagecraft
