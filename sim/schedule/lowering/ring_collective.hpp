#pragma once

#include "sim/schedule/exchange_rings.hpp"
#include "sim/schedule/lowering/collective_phases.hpp"
#include "sim/schedule/lowering/lowering_state.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// The bytes of a bucket.
struct BucketBytes {
  Bytes all;
  Bytes experts;  ///< the part of them that is in rings of experts
};

template <class Bucket>
[[nodiscard]] std::vector<BucketBytes> bytes_of(const std::vector<Bucket>& buckets) {
  std::vector<BucketBytes> bytes;
  for (const Bucket& bucket : buckets) bytes.push_back({bucket.bytes, bucket.experts});
  return bytes;
}

/// What replicas sum up of gradients, or gather of weights.
struct RingWork {
  Exchange::Kind kind = Exchange::Kind::AllReduce;
  std::vector<ReplicaId> members;  ///< on different devices, in the order of the ring
  std::vector<BucketBytes> buckets;
  std::uint16_t number = 0;  ///< of the ring among the plan's
};

/// Lowers the collectives of one kind of one ring of replicas. Groups form one ring for each part of the weights, at
/// the same time, and after these one for each part of the experts.
///
/// All steps of a phase are modelled by one flow for each connection. A flow brings the latency of one step itself, so
/// the mark at the begin of the phase takes that of the others. The last chunk of every member crosses every
/// connection, so nobody has the result before the mark at the end, which waits for all flows.
///
/// On the analytic network, and with a table of measured bandwidths, a formula gives the time, and no link is used.
class RingCollective {
 public:
  /// `is_lowered`: on the analytic network, too, it takes as long as on the platform's. `state` must outlive it.
  RingCollective(LoweringState& state, RingWork work, bool is_lowered);

  /// 0 if there is nothing to exchange: for a replica alone, and without parameters.
  [[nodiscard]] std::size_t buckets() const { return buckets_.size(); }
  /// Appends the collective of a bucket, which begins after the operations `after`. Returns the mark at its end.
  OpId append(std::size_t bucket, const std::vector<OpId>& after, std::uint32_t first_microbatch);

 private:
  /// Of [begin, end) of the bytes in these rings, which are those of `platform`.
  [[nodiscard]] std::vector<CollectivePhase> lowered(const Platform& platform, const MemberRings& rings, Bytes begin,
                                                     Bytes end) const;
  [[nodiscard]] std::vector<CollectivePhase> by_formula(const MemberRings& rings, Seconds seconds) const;
  [[nodiscard]] std::vector<CollectivePhase> over_links(const MemberRings& rings, Bytes begin, Bytes end) const;

  LoweringState& state_;
  RingWork work_;
  std::vector<std::vector<CollectivePhase>> buckets_;  ///< by bucket
};

}  // namespace stagecraft
