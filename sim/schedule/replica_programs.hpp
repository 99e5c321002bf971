#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/gradient_buckets.hpp"
#include "sim/schedule/stage_program.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace stagecraft {

struct Stage;

/// The programs of a stage's replicas. Times and bytes are those of the replica's own kind of device and number of
/// samples where the profile has them (`LayerGraph::own_times`); else they are the profile's, in proportion to the
/// samples, and times also to the speeds. A speed that the user gives changes times, never bytes. Each pass also takes
/// the overhead of its kind of device, whatever its share and the speeds.
class ReplicaPrograms {
 public:
  /// **Requires** that graph, platform and stage outlive it.
  ReplicaPrograms(const LayerGraph& graph, const Platform& platform, const Stage& stage, StageBuckets buckets = {});

  /// The program for one whole microbatch on the profile's device.
  [[nodiscard]] const StageProgram& whole() const { return whole_; }
  /// The program of a replica on `device` that runs `share` of each microbatch.
  /// **Throws** InputError if the device's speed is not known.
  /// **Cost** O(layers of the stage) for the first share of its size on each kind, else O(steps of the backward).
  [[nodiscard]] StageProgram of(DeviceId device, const Share& share);
  /// The same with its bytes; the times are those of some device. It needs no speed.
  [[nodiscard]] StageProgram memory_of(DeviceId device, const Share& share);

 private:
  /// **Requires** `own_times`, and a kind that they have.
  [[nodiscard]] const StageProgram& profiled(const std::string& kind, std::int64_t samples);
  /// As `of`, without overheads.
  [[nodiscard]] StageProgram timed(DeviceId device, const Share& share);

  const LayerGraph& graph_;
  const Platform& platform_;
  const Stage& stage_;
  StageBuckets buckets_;
  StageProgram whole_;
  std::map<std::pair<std::string, std::int64_t>, StageProgram> profiled_;  ///< by kind and samples
};

/// Where the times of a replica on `device` with `samples` of each microbatch come from.
[[nodiscard]] Origin times_origin(const LayerGraph& graph, const Platform& platform, DeviceId device,
                                  std::int64_t samples);

/// The times of all layers for `samples` of the microbatch on the profile's device.
/// **Requires** samples > 0. **Cost** O(layers).
[[nodiscard]] IndexVector<LayerId, LayerTimes> times_of_samples(const LayerGraph& graph, std::int64_t samples);
/// The same on a device, as `ReplicaPrograms::of` has them, without overheads. **Throws** likewise.
[[nodiscard]] IndexVector<LayerId, LayerTimes> times_of_samples(const LayerGraph& graph, const Platform& platform,
                                                                DeviceId device, std::int64_t samples);

}  // namespace stagecraft
