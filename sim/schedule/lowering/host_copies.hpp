#pragma once

#include "sim/schedule/lowering/lowering_state.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// One copy between a replica's device and its host.
struct HostCopy {
  OpKind kind = OpKind::SwapOut;
  std::uint32_t microbatch = 0;  ///< as the orders count it
  Bytes bytes;
  MemoryCategory category = MemoryCategory::Stash;
  bool keeps_source = false;  ///< the source stays in memory
};

/// Copies in the background between devices and their hosts. A device has one copy engine for each direction, modelled
/// as a strict lane: its copies run one after the other, in the order in which they are appended.
class HostCopies {
 public:
  /// `state` must outlive it.
  explicit HostCopies(LoweringState& state);

  /// Gives the replica's device its engines. **Requires** a device with a host.
  void open(ReplicaId replica);
  /// Appends a copy that waits for the operations `after`; of a group one for each member, and returns an operation
  /// that ends with the last. The copy occupies memory at its destination from its start, and frees the memory at its
  /// source at its end. **Requires** that the device has its engines.
  OpId append(ReplicaId replica, const HostCopy& copy, const std::vector<OpId>& after);

 private:
  OpId append_one(ReplicaId replica, const HostCopy& copy, const std::vector<OpId>& after, std::size_t member);

  /// The lanes, of a group its first member's, of a device's two copy engines; none until it swaps.
  struct Engines {
    LaneId out;
    LaneId in;
  };
  LoweringState& state_;
  std::vector<Engines> engines_;  ///< by device
};

}  // namespace stagecraft
