#pragma once

#include "sim/base/error.hpp"
#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/ring_buckets.hpp"
#include "sim/schedule/tied_stages.hpp"
#include "sim/schedule/turn_programs.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

struct Plan;
class Replicas;

/// What a replica does for each microbatch that it runs.
struct ReplicaWork {
  TurnPrograms programs;  ///< of its device and its share, with the parameters of all layers of the stage
  /// For each of the different programs the backward again, with steps that complete the buckets of gradients; empty
  /// where all are exchanged at once.
  std::vector<std::vector<BackwardStep>> in_buckets;
  std::vector<std::vector<StepExchanges>> exchanges_in_buckets = {};  ///< of a group, in those steps
  /// Likewise the parts of the forward between which weights may be missing; empty where none are gathered.
  std::vector<std::vector<Seconds>> forwards_in_buckets = {};
};

/// What the replicas of a plan do on one graph and one platform. Lowering, the memory ledger, loads, updates and bounds
/// all read it, so that they agree. It does not depend on the number of microbatches, and refers to nothing.
class PlanWork {
 public:
  /// **Requires** a plan that `check_plan` finds without violations, memory apart.
  /// **Cost** O((layers + edges) log layers + replicas · log kinds of work); memory by different kinds of work.
  PlanWork(const LayerGraph& graph, const Platform& platform, const Plan& plan, const Replicas& replicas);

  [[nodiscard]] const ReplicaWork& operator[](ReplicaId id) const { return different_[of_replica_[id]]; }
  /// The work of a replica on the device at that position of the stage, if its share were the stage's largest.
  [[nodiscard]] const ReplicaWork& at_largest_share(StageId stage, std::size_t position) const {
    return different_[at_largest_share_[stage.value()][position]];
  }
  /// The boundaries over which tensors go straight to their consumers.
  [[nodiscard]] const std::vector<Boundary>& boundaries() const { return boundaries_; }
  [[nodiscard]] const std::vector<TiedRing>& tied() const { return tied_; }
  /// The rings that exchange gradients.
  [[nodiscard]] const RingBuckets& rings() const { return rings_; }
  /// How many devices of a replica hold the same parameters, of a group that is planned for as one device, too; of a
  /// model without experts, none of these.
  [[nodiscard]] const Copies& copies() const { return copies_; }
  /// **Throws** InputError if the speed of a device is not known. Bytes are right even then, but times are those of
  /// some other device.
  void require_times() const {
    if (unknown_speed_) throw InputError(*unknown_speed_);
  }

 private:
  class Maker;

  Copies copies_;
  std::vector<Boundary> boundaries_;
  std::vector<TiedRing> tied_;
  RingBuckets rings_;
  std::vector<ReplicaWork> different_;  ///< replicas of a stage on devices alike with shares of one size do the same
  IndexVector<ReplicaId, std::uint32_t> of_replica_;
  std::vector<std::vector<std::uint32_t>> at_largest_share_;  ///< by stage, then by position
  std::optional<InputError> unknown_speed_;
};

}  // namespace stagecraft
