#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/gradient_buckets.hpp"
#include "sim/schedule/stage_program.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

struct Stage;

/// The programs of a stage's replicas. The times are those of the replica's own kind of device and number of samples
/// where the profile has them (`LayerGraph::own_times`), unless the user gives the kind's speed; else the profile's,
/// in proportion to samples and speeds. Bytes are in proportion to the samples.
class ReplicaPrograms {
 public:
  /// **Requires** that graph, platform and stage outlive it.
  ReplicaPrograms(const LayerGraph& graph, const Platform& platform, const Stage& stage,
                  std::vector<GradientBucket> buckets = {});

  /// The program for one whole microbatch on the profile's device.
  [[nodiscard]] const StageProgram& whole() const { return whole_; }
  /// The program of a replica on `device` that runs `share` of each microbatch.
  /// **Throws** InputError if the device's speed is not known.
  /// **Cost** O(layers of the stage) for the first share of its size on each kind, else O(steps of the backward).
  [[nodiscard]] StageProgram of(DeviceId device, const Share& share);

 private:
  [[nodiscard]] const StageProgram& own(const std::string& kind, std::int64_t samples);

  const LayerGraph& graph_;
  const Platform& platform_;
  const Stage& stage_;
  std::vector<GradientBucket> buckets_;
  StageProgram whole_;
  std::map<std::pair<std::string, std::int64_t>, StageProgram> own_;  ///< by kind and samples; bytes of the whole
};

/// The times of all layers for `samples` of the microbatch on the profile's device.
/// **Requires** samples > 0. **Cost** O(layers).
[[nodiscard]] IndexVector<LayerId, LayerTimes> times_of_samples(const LayerGraph& graph, std::int64_t samples);

}  // namespace stagecraft
