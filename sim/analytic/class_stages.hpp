#pragma once

#include "sim/analytic/least_exchange.hpp"
#include "sim/analytic/least_times.hpp"
#include "sim/analytic/widest_network.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/training.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft {

/// How many replicas a stage has, and whether they divide each microbatch or take turns.
struct StageForm {
  std::size_t replicas = 1;
  bool divides = false;
};

/// What a stage takes at least, in seconds, whatever its devices.
struct StageCosts {
  double busy = 0.0;     ///< all microbatches of a replica that has the most to do
  double forward = 0.0;  ///< a forward of any replica
  double both = 0.0;     ///< and a backward
  double inside = 0.0;   ///< after the work of that replica: its exchange of gradients inside a node, and its update
  double spread = 0.0;   ///< likewise, with replicas on several nodes
};

/// The stages that plans of a class can be made of: every run of layers in every form, unless its parameters fit on no
/// device.
class ClassStages {
 public:
  /// **Throws** InputError for a device of unknown speed.
  /// **Cost** O(layers² · devices), and that of `LeastTimes` and of `widest_network`.
  ClassStages(const LayerGraph& graph, const Platform& platform, const Training& training, std::int64_t microbatches);

  [[nodiscard]] const std::vector<LayerId>& order() const { return order_; }
  [[nodiscard]] std::size_t devices() const { return devices_; }
  [[nodiscard]] std::int64_t microbatches() const { return microbatches_; }
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  [[nodiscard]] const WidestNetwork& network() const { return network_; }
  [[nodiscard]] const LeastTimes& times() const { return times_; }
  /// By increasing number of replicas.
  [[nodiscard]] const std::vector<StageForm>& forms() const { return forms_; }

  /// Of the stages of that form that begin with the layer at `begin`: those that end after one layer, after two, ….
  [[nodiscard]] const std::vector<StageCosts>& of(std::size_t begin, std::size_t form) const {
    return costs_[begin * forms_.size() + form];
  }

 private:
  [[nodiscard]] std::vector<StageCosts> costs(const LeastExchange& exchange, std::size_t begin,
                                              const StageForm& form) const;

  std::vector<LayerId> order_;
  std::size_t devices_;
  std::int64_t microbatches_;
  std::int64_t samples_;
  WidestNetwork network_;
  LeastTimes times_;
  std::vector<StageForm> forms_;
  std::vector<std::vector<StageCosts>> costs_;
};

}  // namespace stagecraft
