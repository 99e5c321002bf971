#pragma once

#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/network_model.hpp"
#include "sim/schedule/ring_buckets.hpp"
#include "sim/schedule/stage_program.hpp"
#include "sim/schedule/turn_programs.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace stagecraft {

/// One destination of a replica's result over one boundary: a given replica, or whichever replica runs the microbatch.
struct Target {
  std::size_t boundary = 0;
  StageId stage;
  ReplicaId replica;  ///< none: the replicas alternate, so the microbatch decides
  Bytes bytes;
};

/// The work of one replica for each microbatch that it runs, and where its results go.
struct WorkerShape {
  PlaceId place;
  const ReplicaWork& work;
  Bytes parameters;        ///< without those that another replica on its device holds
  Seconds update;          ///< the optimizer's step
  std::int64_t count = 0;  ///< microbatches per iteration, or of the run
  std::vector<Target> forward_targets = {};
  std::vector<Target> backward_targets = {};
  std::uint32_t forward_inputs = 0;   ///< operations that a forward waits for: one for each part of its input
  std::uint32_t backward_inputs = 0;  ///< the same for a backward and its gradients
  bool shares_links = false;  ///< something else crosses links of its group's exchanges (`groups_that_share_links`)
  [[nodiscard]] const std::vector<Target>& targets(bool gradient) const {
    return gradient ? backward_targets : forward_targets;
  }
};

/// A plan as lowering sees it: which replica runs which stage on which device, and which tensors go from where to
/// where. It does not change while the plan runs.
class RunShape {
 public:
  /// `graph` and `platform` must outlive it. With `is_chain`, tensors cross every boundary between their producer and
  /// their consumer (`chain_boundaries`), as on the analytic network. Otherwise they go straight to their consumer.
  RunShape(const LayerGraph& graph, const Platform& platform, std::shared_ptr<const KeptPlan> kept,
           const std::vector<std::int64_t>& weight_versions, NetworkModel network, bool is_chain);

  [[nodiscard]] const LayerGraph& graph() const { return graph_; }
  [[nodiscard]] const Platform& platform() const { return platform_; }
  [[nodiscard]] const KeptPlan& kept() const { return *kept_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const Replicas& replicas() const { return replicas_; }
  [[nodiscard]] bool is_analytic() const { return network_ == NetworkModel::Analytic; }
  [[nodiscard]] const std::vector<Boundary>& boundaries() const { return boundaries_; }
  /// Those over which tensors go straight to their consumers.
  [[nodiscard]] const std::vector<Boundary>& straight() const { return kept_->work->boundaries(); }
  /// The rings that exchange gradients.
  [[nodiscard]] const RingBuckets& rings() const { return kept_->work->rings(); }
  /// The buckets of all rings of the stage, in the order in which its backward completes them.
  [[nodiscard]] const std::vector<RingBucket>& buckets(StageId stage) const { return rings().by_stage[stage.value()]; }
  [[nodiscard]] const WorkerShape& operator[](ReplicaId replica) const { return workers_[replica]; }

  /// Number of transfers that carry one microbatch over the boundary in one direction.
  [[nodiscard]] std::size_t flows_over(std::size_t boundary) const;
  /// The position of the replica's device among the plan's devices.
  [[nodiscard]] std::size_t device_index(ReplicaId replica) const { return device_index_[replica]; }
  /// **Requires** a device of the plan.
  [[nodiscard]] std::size_t device_index(DeviceId device) const;
  /// The replica of the stage on the device. `device` is a position among the plan's devices.
  [[nodiscard]] ReplicaId replica_on(std::size_t device, StageId stage) const {
    const std::vector<ReplicaId>& replicas = on_device_[device];
    std::size_t i = 0;
    while (i + 1 < replicas.size() && replicas_[replicas[i]].stage != stage) ++i;
    STAGECRAFT_CHECK(replicas_[replicas[i]].stage == stage, "orders give a device work of its own stages");
    return replicas[i];
  }

 private:
  void make_workers(const std::vector<std::int64_t>& weight_versions);
  void connect(std::size_t boundary, bool gradient);
  void count_inputs();

  const LayerGraph& graph_;
  const Platform& platform_;
  std::shared_ptr<const KeptPlan> kept_;
  const Plan& plan_;
  const Replicas& replicas_;
  NetworkModel network_;
  std::vector<Boundary> chain_;
  const std::vector<Boundary>& boundaries_;
  IndexVector<ReplicaId, WorkerShape> workers_;
  IndexVector<ReplicaId, std::size_t> device_index_;
  std::vector<std::vector<ReplicaId>> on_device_;
};

}  // namespace stagecraft
