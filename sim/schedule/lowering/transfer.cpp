#include "sim/schedule/lowering/transfer.hpp"

#include <algorithm>

namespace stagecraft {

void append_transfer(LoweringState& state, const PendingTransfer& transfer, bool gradient) {
  const OpId id = state.writer.append(transfer.op);
  state.writer.depend_on(transfer.dependencies);
  for (const auto& [receiver, index] : transfer.receivers) state.arrive(receiver, index, id, gradient);
}

OpId oldest_of(const std::vector<PendingTransfer>& transfers) {
  OpId oldest = OpId::none();
  for (const PendingTransfer& transfer : transfers) {
    for (OpId op : transfer.dependencies) oldest = std::min(oldest, op);
  }
  return oldest;
}

}  // namespace stagecraft
