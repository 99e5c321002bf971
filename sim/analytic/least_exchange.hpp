#pragma once

#include "sim/analytic/least_times.hpp"
#include "sim/analytic/widest_network.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/run_sums.hpp"
#include "sim/model/training.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft {

/// What the replicas of a stage do after their last backwards at least: they sum up their gradients and update their
/// parameters. Layers are positions in the canonical order.
///
/// Each of r members sends 2 (r - 1) / r of the gradients' bytes to others, and with rings through several nodes as
/// much leaves each node. The hierarchical way through k nodes has 2 (k - 1) / k leave each, beside what its members
/// send each other before and after that. Buckets may be exchanged while the last backward still runs, but none before
/// its own layers have run theirs.
class LeastExchange {
 public:
  LeastExchange(const LayerGraph& graph, const Platform& platform, const Training& training,
                const std::vector<LayerId>& order, const WidestNetwork& network);

  /// Whether the parameters of the layers [begin, end) fit on some device, with gradients and the optimizer's state,
  /// if so many replicas divide what `Training::zero` says.
  [[nodiscard]] bool fits(std::size_t begin, std::size_t end, std::size_t replicas) const;
  /// The update on the fastest device, in seconds.
  [[nodiscard]] double update(std::size_t begin, std::size_t end, std::size_t replicas) const;

  /// What an exchange among replicas takes.
  struct Rate {
    double latency = 0.0;   ///< s
    double per_byte = 0.0;  ///< s
    double rounding = 0.0;  ///< bytes that buckets may leave to those before them, as flows have whole bytes
  };
  [[nodiscard]] Rate inside(std::size_t replicas) const;
  [[nodiscard]] Rate spread(std::size_t replicas) const;

  /// By end, the first one after one layer: how long the exchange of the gradients of the layers from `begin` on lasts
  /// beyond the last backward, whose times `busiest` has. **Cost** O(layers), and again for each end of a tied group.
  [[nodiscard]] std::vector<double> exposed(std::size_t begin, const Rate& rate, const LayerSums& busiest) const;

 private:
  struct Tied {
    std::size_t first = 0;
    std::size_t last = 0;
    double bytes = 0.0;
  };

  [[nodiscard]] Rate scaled(double per_byte, std::size_t replicas) const;
  /// Of so many rings that leave a node over different cards.
  [[nodiscard]] double cards_bandwidth(std::size_t rings) const;
  [[nodiscard]] Rate by_table(std::size_t replicas) const;
  /// Of the stage [begin, end): the gradients of its layers up to `last`.
  [[nodiscard]] double bytes_up_to(std::size_t last, std::size_t begin, std::size_t end) const;

  const Platform& platform_;
  const Training& training_;
  WidestNetwork network_;
  double inside_bandwidth_ = 0.0;  ///< in bytes/s, what a collective reaches of it
  double network_share_ = 1.0;     ///< likewise between nodes
  Bytes capacity_;                 ///< of the device with the most
  RunSums parameters_;
  std::vector<double> untied_;  ///< sums over the layers before
  std::vector<Tied> tied_;
};

}  // namespace stagecraft
