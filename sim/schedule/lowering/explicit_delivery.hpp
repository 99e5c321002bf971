#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/lowering/lowering_state.hpp"
#include "sim/schedule/lowering/transfer.hpp"
#include "sim/schedule/transfer_ends.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// A send or a receive of a device's order, appended as a mark.
struct PostedMark {
  ReplicaId replica;
  Action action;
  OpId op;
};

/// A send or a receive that a device has come to and that cannot start, and its other end.
struct WaitingMark {
  Action action;
  Action other;
  std::size_t other_device = 0;  ///< position among the plan's devices
  bool is_other_posted = false;  ///< its device has come to it
};

/// Sends and receives are actions of the devices' orders, lowered as marks (`OpKind::Post`). A transfer waits for the
/// marks of both ends.
///
/// With `Transfers::Stream` a device has one stream for all that it sends and receives, as NCCL has for a communicator.
/// A *batch* is what its order joins: a batch starts when the one before has ended, and its transfers run side by side.
/// A transfer can be appended only when its batches are the first of their streams that are left at both ends, so it
/// depends on nothing that is appended later. Orders for which that never comes are a deadlock of the real machine too.
class ExplicitDelivery {
 public:
  /// **Requires** a rule that lists transfers.
  ExplicitDelivery(const LoweringState& state, Transfers rule)
      : rule_(rule), ends_(state.shape.boundaries(), state.replicas()), streams_(state.lanes.size()) {}

  /// The senders of the transfer are lowered. **Requires** that its send is not.
  void deliver(TransferKey key, PendingTransfer transfer) { open_[key].transfers.push_back(std::move(transfer)); }
  /// A device has come to the marks of a batch. Appends the transfers that can start now.
  void post(LoweringState& state, const std::vector<PostedMark>& batch);
  /// Whether the device waits for the ends of its sends and receives before it goes on.
  [[nodiscard]] bool holds(std::size_t device) const {
    return rule_ == Transfers::Blocking && !streams_[device].batches.empty();
  }
  /// Of the first batch that is left in the device's stream; none if there is no such.
  [[nodiscard]] std::optional<WaitingMark> waiting(const LoweringState& state, std::size_t device) const;
  [[nodiscard]] OpId oldest() const;

 private:
  struct End {
    std::size_t device = 0;
    std::size_t batch = 0;  ///< its number in the device's stream
    OpId mark;              ///< none: the device has not come to it
  };
  struct Open {
    End send;
    End receive;
    std::vector<PendingTransfer> transfers;
    [[nodiscard]] bool has_both_ends() const { return !send.mark.is_none() && !receive.mark.is_none(); }
  };
  struct Batch {
    std::vector<std::pair<TransferKey, Action>> left;  ///< of which the transfers have not been appended
    std::vector<OpId> transfers;
  };
  struct Stream {
    std::deque<Batch> batches;  ///< that are left
    std::size_t first = 0;      ///< the number of the first of them
    std::vector<OpId> last;     ///< the transfers of the batch before
  };

  void append(LoweringState& state, TransferKey key);
  void append_in_turn(LoweringState& state, std::size_t device, std::vector<std::size_t>& changed);
  [[nodiscard]] bool is_in_turn(const End& end) const { return streams_[end.device].first == end.batch; }
  void note(LoweringState& state, std::size_t device, TransferKey key, const std::vector<OpId>& transfers);
  void hold(LoweringState& state, std::size_t device, const std::vector<OpId>& transfers) const;

  Transfers rule_;
  TransferEnds ends_;
  std::map<TransferKey, Open> open_;
  std::vector<Stream> streams_;  ///< by device; empty where transfers wait for their marks only
};

}  // namespace stagecraft
