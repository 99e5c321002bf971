#pragma once

#include "sim/schedule/lowering/lowering_state.hpp"

#include <compare>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft {

/// Identifies the transfers that carry one microbatch over a boundary in one direction. The microbatch is counted as in
/// the orders.
struct TransferKey {
  std::size_t boundary = 0;
  std::uint32_t microbatch = 0;
  bool gradient = false;
  friend auto operator<=>(const TransferKey&, const TransferKey&) = default;
};

/// A transfer whose senders have been lowered. The delivery rule decides when it is appended.
struct PendingTransfer {
  Op op;
  std::vector<OpId> dependencies;
  std::vector<std::pair<ReplicaId, std::int64_t>> receivers;  ///< with the microbatch's index on their boards
  std::uint32_t pair = 0;   ///< number of the pair of replicas: which of the channel's lanes it takes
  bool keeps_lane = false;  ///< on a ready lane: its further legs go before all that waits for the lane
};

/// Appends the operations of a transfer after `dependencies`: one, or one for each leg of its way, each after the one
/// before. Returns the last one, at whose end the tensor has arrived. A tensor that passes through host memory takes
/// its bytes of a host from the start of the leg that brings it there to the end of the leg that takes it away.
OpId append_legs(LoweringState& state, const Op& transfer, std::span<const OpId> dependencies, bool keeps_lane = false);
/// Appends the transfer and enters it on its receivers' boards. Returns its last operation.
OpId append_transfer(LoweringState& state, const PendingTransfer& transfer, bool gradient);
/// The least operation that any of the transfers depends on.
[[nodiscard]] OpId oldest_of(const std::vector<PendingTransfer>& transfers);

}  // namespace stagecraft
