#include "planners/shared/cuts/equal_cuts.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/run_maxima.hpp"
#include "planners/shared/cuts/bottleneck_cuts.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/model/run_sums.hpp"
#include "sim/schedule/memory_ledger.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace stagecraft {
namespace {

/// A stage's place, whatever its layers are.
struct EqualPlace {
  double factor = 1.0;  ///< of the profile's times
  double in_flight = 1.0;
  double copies = 1.0;  ///< of the parameters
  double capacity = 0.0;
};

std::vector<Bytes> workspaces(const LayerGraph& graph, const std::vector<LayerId>& order) {
  std::vector<Bytes> result;
  for (const LayerId layer : order) result.push_back(graph.layers[layer].workspace);
  return result;
}

/// The figures of all cuts of a plan's layers into as many stages.
class EqualCuts {
 public:
  EqualCuts(const PlanRequest& request, const Plan& plan, const ScheduleProgram& program)
      : plan_(plan),
        order_(canonical_order(request.graph)),
        forward_(order_.size() + 1),
        time_(order_.size() + 1),
        parameters_(parameter_sums(request.graph, order_)),
        stash_(stash_sums(request.graph, order_)),
        workspace_(workspaces(request.graph, order_)) {
    const auto replicas = static_cast<std::int64_t>(plan.stages.front().replicas.size());
    const std::int64_t turns = (plan.microbatches + replicas - 1) / replicas;
    microbatches_ = static_cast<double>(turns);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const Layer& layer = request.graph.layers[order_[i]];
      forward_[i + 1] = forward_[i] + layer.forward.value();
      time_[i + 1] = time_[i] + (layer.forward + layer.backward).value();
    }
    std::size_t begin = 0;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      add_place(request, program, s);
      const std::size_t end = begin + plan.stages[s].layers.size();
      longest_ = std::max(longest_, time(s, begin, end) * kRounding);
      begin = end;
    }
  }

  [[nodiscard]] std::vector<Stage> best(EqualCut wish) const {
    const auto cost = [&](std::size_t stage, std::size_t begin, std::size_t end) {
      if (time(stage, begin, end) > longest_) return std::numeric_limits<double>::infinity();
      const double part = memory(stage, begin, end);
      if (wish == EqualCut::Smallest) return part;
      return part > 1.0 ? std::numeric_limits<double>::infinity() : work(stage, begin, end);
    };
    const std::vector<std::size_t> first = bottleneck_cuts(order_.size(), plan_.stages.size(), cost);
    return first.empty() ? std::vector<Stage>{} : stages_of(first);
  }

 private:
  static constexpr double kRounding = 1.0 + 1e-9;

  void add_place(const PlanRequest& request, const ScheduleProgram& program, std::size_t stage) {
    const std::vector<DeviceId> devices = devices_of(plan_.stages[stage]);
    Bytes least = request.platform.capacity(devices.front());
    for (const DeviceId device : devices) least = std::min(least, request.platform.capacity(device));
    const std::int64_t dividing = std::ssize(devices) * request.graph.copies.plain;
    const double copies = state_copies(request.training, program.weight_versions[stage], dividing);
    places_.push_back({slowest_factor(request.graph, request.platform, devices),
                       static_cast<double>(program.in_flight[stage]), copies,
                       std::max(1.0, static_cast<double>(least.value()))});
  }

  [[nodiscard]] double time(std::size_t stage, std::size_t begin, std::size_t end) const {
    return places_[stage].factor * (time_[end] - time_[begin]);
  }

  /// What tells the times of two cuts apart.
  [[nodiscard]] double work(std::size_t stage, std::size_t begin, std::size_t end) const {
    const EqualPlace& place = places_[stage];
    const double forward = place.factor * (forward_[end] - forward_[begin]);
    return (microbatches_ - 1.0) * time(stage, begin, end) - (place.in_flight - 1.0) * forward;
  }

  /// As a part of the device's memory.
  [[nodiscard]] double memory(std::size_t stage, std::size_t begin, std::size_t end) const {
    const EqualPlace& place = places_[stage];
    const auto parameters = static_cast<double>(parameters_(begin, end).value());
    const auto stash = static_cast<double>(stash_(begin, end).value());
    const auto workspace = static_cast<double>(workspace_(begin, end).value());
    return (place.copies * parameters + place.in_flight * stash + workspace) / place.capacity;
  }

  [[nodiscard]] std::vector<Stage> stages_of(const std::vector<std::size_t>& first) const {
    std::vector<Stage> stages = plan_.stages;
    bool is_same = true;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const std::size_t end = s + 1 < stages.size() ? first[s + 1] : order_.size();
      std::vector<LayerId> layers = layers_in(order_, first[s], end);
      is_same = is_same && layers == stages[s].layers;
      stages[s].layers = std::move(layers);
      stages[s].memory.clear();
    }
    return is_same ? std::vector<Stage>{} : stages;
  }

  const Plan& plan_;
  std::vector<LayerId> order_;
  std::vector<double> forward_;  // of the layers before, on the profile's device
  std::vector<double> time_;
  RunSums parameters_;
  RunSums stash_;
  RunMaxima workspace_;
  std::vector<EqualPlace> places_;
  double microbatches_ = 1.0;  // on a replica
  double longest_ = 0.0;       // time of a stage that is allowed
};

}  // namespace

std::vector<Stage> equal_cut(const PlanRequest& request, const Plan& plan, const ScheduleProgram& program,
                             EqualCut wish) {
  return EqualCuts(request, plan, program).best(wish);
}

}  // namespace stagecraft
