#pragma once

#include "sim/schedule/lowering/lowering_state.hpp"

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft {

/// What carries one microbatch over a boundary one way. The microbatch is counted as the orders do.
struct TransferKey {
  std::size_t boundary = 0;
  std::uint32_t microbatch = 0;
  bool gradient = false;
  friend auto operator<=>(const TransferKey&, const TransferKey&) = default;
};

/// A transfer that could start as far as its senders are concerned.
struct PendingTransfer {
  Op op;
  std::vector<OpId> dependencies;
  std::vector<std::pair<ReplicaId, std::int64_t>> receivers;  ///< and the index on their boards
  std::uint32_t pair = 0;                                     ///< of replicas: its lane, counted from the channel's
};

/// Appends it, and tells its receivers.
void append_transfer(LoweringState& state, const PendingTransfer& transfer, bool gradient);
/// The least operation that one of them waits for.
[[nodiscard]] OpId oldest_of(const std::vector<PendingTransfer>& transfers);

}  // namespace stagecraft
