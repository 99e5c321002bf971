#pragma once

#include "sim/schedule/lowering/lowering_state.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// The replicas that sum up their gradients in a ring, in its order.
struct AllReduceRing {
  std::vector<ReplicaId> members;
  std::vector<GradientBucket> buckets;
  std::uint16_t number = 0;  ///< among the plan's rings
};

/// Lowers the all-reduces of one ring.
///
/// A ring of n members has 2 (n - 1) steps, in which 2 (n - 1) / n of the parameters cross each connection between
/// neighbours. All steps are modelled by one flow for each pair of neighbours. A flow brings the latency of one step
/// itself, so the mark at the begin takes the latency of the other 2 (n - 1) - 1 steps. The last chunk of every member
/// crosses every connection, so nobody has the result before the mark at the end, which waits for all flows.
///
/// On the analytic network the bytes are the same, at the bandwidth of the slowest pair and without latency.
class RingAllReduce {
 public:
  /// `state` must outlive it.
  RingAllReduce(LoweringState& state, AllReduceRing ring);

  [[nodiscard]] const std::vector<ReplicaId>& members() const { return ring_.members; }
  /// 0 if there is nothing to exchange: for a replica alone, and without parameters.
  [[nodiscard]] std::size_t buckets() const { return flow_bytes_.size(); }
  /// Appends the all-reduce of a bucket, which begins after the operations `after`. Returns the mark at its end.
  OpId append(std::size_t bucket, const std::vector<OpId>& after, std::uint32_t first_microbatch);

 private:
  [[nodiscard]] Seconds largest_latency() const;
  [[nodiscard]] Op op(OpKind kind, std::uint32_t first_microbatch) const;

  LoweringState& state_;
  AllReduceRing ring_;
  std::vector<Bytes> flow_bytes_;          ///< by bucket
  Seconds latency_;                        ///< the largest between neighbours; 0 on the analytic network
  std::optional<BytesPerSecond> analytic_;  ///< bandwidth on the analytic network
};

}  // namespace stagecraft
