#include "sim/model/time_factors.hpp"

#include "sim/base/error.hpp"
#include "sim/model/origin.hpp"
#include "sim/model/profile_source.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

using Factors = IndexVector<LayerId, TimeFactors>;

void multiply(LayerGraph& graph, const Factors& factors) {
  STAGECRAFT_CHECK(factors.size() == graph.layers.size(), "factors for every layer");
  for (LayerId id : indices(graph.layers)) {
    Layer& layer = graph.layers[id];
    layer.forward = factors[id].forward * layer.forward;
    layer.backward = factors[id].backward * layer.backward;
    layer.backward_weight = factors[id].backward * layer.backward_weight;
  }
}

class ChangedProfiles final : public ProfileSource {
 public:
  ChangedProfiles(std::shared_ptr<const ProfileSource> source, Factors factors)
      : source_(std::move(source)), factors_(std::move(factors)) {}

  [[nodiscard]] bool has(const std::string& kind) const override { return source_->has(kind); }
  [[nodiscard]] Origin origin(const std::string& kind, std::int64_t samples) const override {
    return source_->origin(kind, samples);
  }
  [[nodiscard]] std::shared_ptr<const ProfileSource> sharded(const Degrees& degrees) const override {
    auto parts = source_->sharded(degrees);
    return parts ? std::make_shared<ChangedProfiles>(std::move(parts), factors_) : nullptr;
  }

 private:
  [[nodiscard]] LayerGraph make_profile(const std::string& kind, std::int64_t samples) const override {
    LayerGraph graph = source_->profile(kind, samples);
    multiply(graph, factors_);
    return graph;
  }

  std::shared_ptr<const ProfileSource> source_;
  Factors factors_;
};

}  // namespace

LayerGraph with_time_factors(LayerGraph graph, const Factors& factors) {
  multiply(graph, factors);
  if (graph.own_times) graph.own_times = std::make_shared<ChangedProfiles>(graph.own_times, factors);
  return graph;
}

Model with_time_factors(Model model, const Factors& factors) {
  for (LayerGraph& profile : model.profiles) multiply(profile, factors);
  if (model.computed) model.computed = std::make_shared<ChangedProfiles>(model.computed, factors);
  return model;
}

}  // namespace stagecraft
