#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/degrees.hpp"
#include "sim/model/rotation.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft {

struct Plan;
struct Stage;

/// A part of a whole: [begin, end) of `of`.
struct Share {
  std::int64_t begin = 0;
  std::int64_t end = 1;
  std::int64_t of = 1;
  [[nodiscard]] Bytes operator*(Bytes whole) const { return share_up(whole, end - begin, of); }
  [[nodiscard]] bool is_empty() const { return begin == end; }
  friend bool operator==(const Share&, const Share&) = default;
};

/// The part of a tensor that goes from one replica to another; empty if they have nothing to exchange.
[[nodiscard]] Share flow_share(const Share& from, const Share& to);

/// How many of a microbatch's samples a replica's share holds.
[[nodiscard]] std::int64_t samples_of(const Share& share, std::int64_t samples);

/// A share as large as the largest of the stage's replicas; all of a microbatch of `samples` if whole ones alternate.
[[nodiscard]] Share largest_share(const Stage& stage, std::int64_t samples);

/// The fewest samples of a microbatch of which each replica of the stage gets at least one.
[[nodiscard]] std::int64_t least_samples(const Stage& stage);

/// How many times the largest part of a microbatch that the stage divides is in the whole.
[[nodiscard]] double parts_of(const Stage& stage);

/// Whether several replicas of the stage run each of its microbatches together.
[[nodiscard]] bool divides_microbatches(const Stage& stage);

/// The number of replicas of a stage among which whole microbatches alternate; 1 for a stage that divides each
/// microbatch.
[[nodiscard]] std::int64_t alternating_replicas(const Stage& stage);

/// Whose turn is which among those replicas.
[[nodiscard]] Rotation turns_of(const Stage& stage);

/// Whether shares of a stage's replicas or of pipelines differ.
[[nodiscard]] bool has_unequal_shares(const Plan& plan);

/// One worker of a stage.
struct Replica {
  StageId stage;
  std::uint32_t pipeline = 0;
  std::uint32_t lane = 0;   ///< among the replicas of the stage that alternate
  std::int64_t turns = 1;   ///< microbatches of the plan after which the turns of the stage's replicas repeat
  std::int64_t taken = 1;   ///< how many of these it runs
  DeviceId device;          ///< the one that leads its group, and stands for all of it
  Share share;              ///< of each microbatch that it runs
  std::uint32_t chunk = 0;  ///< position among the replicas on its device

  /// The plan's microbatches in the rounds of turns that the replica has completed with so many of its own.
  [[nodiscard]] std::int64_t completed(std::int64_t own) const { return own / taken * turns; }
};

/// Replicas that sum up the gradients of the same layers.
struct GradientRing {
  std::vector<ReplicaId> members;  ///< in the order of their all-reduce
  std::vector<LayerId> layers;     ///< in canonical order
};

/// Which replica runs which microbatch, which replicas form an all-reduce ring, and which share a device. Made from a
/// plan; all other code asks here.
///
/// The plan's microbatches go to its pipelines in turn. A pipeline's own microbatches go to the replicas of a stage in
/// turn, or each of them to all replicas of a stage that divides its microbatches.
///
/// Replicas are numbered stage by stage, in the order of turns. A replica counts the microbatches that it runs itself
/// from 0: its *local* numbers.
class Replicas {
 public:
  /// **Cost** O(replicas log replicas).
  explicit Replicas(const Plan& plan);

  [[nodiscard]] std::size_t size() const { return replicas_.size(); }
  [[nodiscard]] std::int64_t pipelines() const { return static_cast<std::int64_t>(all_runners_.size()); }
  /// Which of the plan's microbatches each pipeline runs.
  [[nodiscard]] const Rotation& pipeline_turns() const { return pipelines_; }
  [[nodiscard]] const Replica& operator[](ReplicaId id) const { return replicas_[id]; }
  [[nodiscard]] IndexRange<ReplicaId> all() const { return indices(replicas_); }

  [[nodiscard]] std::span<const ReplicaId> of(StageId stage) const {
    const std::size_t begin = first_[stage.value()];
    return std::span(ids_).subspan(begin, first_[stage.value() + 1] - begin);
  }
  /// The devices that run a replica together, its own `Replica::device` first.
  [[nodiscard]] std::span<const DeviceId> members(ReplicaId id) const {
    return std::span(members_).subspan(id.value() * group_size_, group_size_);
  }
  /// How many these are; of all replicas as many.
  [[nodiscard]] std::size_t group_size() const { return group_size_; }
  /// Into how many they are divided, and how.
  [[nodiscard]] const Degrees& degrees() const { return degrees_; }
  /// Those that the device runs, alone or in a group, in the order of the plan's stages.
  [[nodiscard]] std::span<const ReplicaId> on(DeviceId device) const;
  /// The devices that lead the plan's replicas, increasing. Two replicas have the same devices, or none in common.
  [[nodiscard]] const std::vector<DeviceId>& devices() const { return devices_; }

  /// Whether whole microbatches alternate between several replicas of the stage.
  [[nodiscard]] bool alternate(StageId stage) const { return lanes_[stage.value()].round() > 1; }
  /// Those that run the microbatch: one, or all of a stage that divides its microbatches; none in another pipeline.
  [[nodiscard]] std::span<const ReplicaId> runners(StageId stage, std::uint32_t microbatch) const {
    const std::span<const ReplicaId> replicas = of(stage);
    const std::uint32_t pipeline = replicas_[replicas.front()].pipeline;
    if (pipelines_.owner(microbatch) != pipeline) return {};
    const Rotation& lanes = lanes_[stage.value()];
    return lanes.round() == 1 ? replicas : replicas.subspan(lanes.owner(pipelines_.count(pipeline, microbatch)), 1);
  }
  /// How many replicas of all stages run the microbatch.
  [[nodiscard]] std::size_t all_runners(std::uint32_t microbatch) const {
    return all_runners_[pipelines_.owner(microbatch)];
  }
  /// Whether some microbatch is run by both.
  [[nodiscard]] bool share_a_microbatch(ReplicaId a, ReplicaId b) const;
  /// **Requires** that the replica runs the microbatch.
  [[nodiscard]] std::int64_t local(ReplicaId replica, std::uint32_t microbatch) const {
    return count(replica, microbatch);
  }
  /// The microbatch that the replica counts as `local`.
  [[nodiscard]] std::uint32_t microbatch(ReplicaId replica, std::int64_t local) const {
    const Replica& own = replicas_[replica];
    return static_cast<std::uint32_t>(pipelines_.turn(own.pipeline, lanes_[own.stage.value()].turn(own.lane, local)));
  }
  /// How many of the first `microbatches` the replica runs.
  [[nodiscard]] std::int64_t count(ReplicaId replica, std::int64_t microbatches) const {
    const Replica& own = replicas_[replica];
    return lanes_[own.stage.value()].count(own.lane, pipelines_.count(own.pipeline, microbatches));
  }

  /// One ring for all layers that are held by the same stages. Every layer is in one ring.
  [[nodiscard]] const std::vector<GradientRing>& rings() const { return rings_; }
  /// Positions in `rings`, increasing. A stage is in several rings if another pipeline cuts its layers differently.
  [[nodiscard]] const std::vector<std::size_t>& rings_of(StageId stage) const { return rings_of_[stage.value()]; }

 private:
  void add_replicas(const Plan& plan, StageId id);
  void make_rings(const Plan& plan);
  void add_ring(const Plan& plan, const std::vector<StageId>& holders);
  void group_by_device();

  IndexVector<ReplicaId, Replica> replicas_;
  std::vector<DeviceId> members_;  ///< of all replicas, one after the other
  std::size_t group_size_ = 1;
  Degrees degrees_;
  std::vector<std::pair<DeviceId, DeviceId>> leads_;  ///< by device of a group, increasing; none for devices alone
  std::vector<ReplicaId> ids_;                        ///< of all replicas, so that spans of them can be given out
  std::vector<std::size_t> first_;                    ///< by stage, and the end
  std::vector<DeviceId> devices_;                     ///< increasing
  std::vector<ReplicaId> by_device_;                  ///< grouped by device, in their order
  std::vector<std::size_t> device_begin_;
  Rotation pipelines_;
  std::vector<Rotation> lanes_;           ///< by stage: turns of its pipeline's microbatches
  std::vector<std::size_t> all_runners_;  ///< by pipeline
  std::vector<GradientRing> rings_;
  std::vector<std::vector<std::size_t>> rings_of_;  ///< by stage
};

/// How many devices the plan uses.
[[nodiscard]] inline std::size_t used_devices(const Replicas& replicas) {
  return replicas.devices().size() * replicas.group_size();
}
/// How many devices sum up the gradients of the same weights, where so many replicas do.
[[nodiscard]] inline std::int64_t in_ring(const Replicas& replicas, std::size_t members) {
  return static_cast<std::int64_t>(members) * copies_in(replicas.degrees()).plain;
}
/// Whether some device has several replicas.
[[nodiscard]] inline bool share_devices(const Replicas& replicas) {
  return replicas.devices().size() < replicas.size();
}
/// The least number of microbatches after which all turns repeat.
[[nodiscard]] std::int64_t round_of(const Replicas& replicas);

[[nodiscard]] bool runs(const Replicas& replicas, ReplicaId replica, std::uint32_t microbatch);

/// The most of the first `microbatches` that a replica of the stage runs.
[[nodiscard]] std::int64_t most_of(const Replicas& replicas, StageId stage, std::int64_t microbatches);

/// The replicas of the stage whose shares of a microbatch have samples in common with `share`.
/// **Requires** a stage that divides its microbatches, and a share that is not empty. **Cost** O(log replicas).
[[nodiscard]] std::span<const ReplicaId> overlapping(const Replicas& replicas, StageId stage, const Share& share);

}  // namespace stagecraft
