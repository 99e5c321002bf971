#pragma once

#include "experiments/run/inputs.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/report.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// Changes of which each alone would let a plan fit, judged by the ledger; none where it would not.
struct Remedies {
  std::optional<Bytes> memory;                  ///< that every device has at least, what is reserved included
  std::optional<std::int64_t> microbatch_size;  ///< the largest smaller one, with as many microbatches
  /// Stage and cap: the largest caps on microbatches in flight per replica, of every stage that lacks memory.
  std::vector<std::pair<StageId, std::int64_t>> in_flight;
  bool recompute_layers = false;  ///< each layer of the stages that lack memory recomputed by itself
  bool recompute_stages = false;  ///< or each of those stages as one segment
  friend bool operator==(const Remedies&, const Remedies&) = default;
};

/// What would let `plan` fit whose devices overflow in `report`. `graph` is the model at the plan's microbatch size.
[[nodiscard]] Remedies find_remedies(const Inputs& inputs, const LayerGraph& graph, const Plan& plan,
                                     const Report& report);

/// The largest number in [1, `end`) that `holds` if it holds up to some number and from there on not, by bisection;
/// none if it does not hold for 1.
[[nodiscard]] std::optional<std::int64_t> largest_below(std::int64_t end,
                                                        const std::function<bool(std::int64_t)>& holds);

}  // namespace stagecraft
