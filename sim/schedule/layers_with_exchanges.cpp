#include "sim/schedule/layers_with_exchanges.hpp"

#include "sim/model/origin.hpp"
#include "sim/model/profile_source.hpp"
#include "sim/schedule/exchange_time.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

/// Turns the graph of a group's member into that of a device alone, which sends what the member does: its part of each
/// tensor.
void add_exchange_times(LayerGraph& graph, ExchangeClock& clock) {
  const std::int64_t parts = graph.degrees.sent_parts();
  graph.degrees = {};
  for (LayerEdge& edge : graph.edges) edge.bytes = share_up(edge.bytes, 1, parts);
  for (Layer& layer : graph.layers) {
    layer.output = share_up(layer.output, 1, parts);
    layer.forward += clock.time(layer.forward_exchanges);
    layer.backward += clock.time(layer.backward_exchanges);
    layer.forward_exchanges.clear();
    layer.backward_exchanges.clear();
  }
}

/// Profiles whose layers take the time of their exchanges.
class ExchangingProfiles final : public ProfileSource {
 public:
  ExchangingProfiles(std::shared_ptr<const ProfileSource> source, Platform platform, Group group,
                     const Degrees& degrees)
      : source_(std::move(source)), platform_(std::move(platform)), clock_(platform_, std::move(group), degrees) {}

  [[nodiscard]] bool has(const std::string& kind) const override { return source_->has(kind); }
  [[nodiscard]] Origin origin(const std::string& kind, std::int64_t samples) const override {
    return source_->origin(kind, samples);
  }

 private:
  [[nodiscard]] LayerGraph make_profile(const std::string& kind, std::int64_t samples) const override {
    LayerGraph graph = source_->profile(kind, samples);
    add_exchange_times(graph, clock_);
    return graph;
  }

  std::shared_ptr<const ProfileSource> source_;
  Platform platform_;
  mutable ExchangeClock clock_;  ///< on the own platform
};

}  // namespace

LayerGraph with_exchange_times(LayerGraph graph, const Platform& whole, const Group& slowest) {
  const Degrees degrees = graph.degrees;
  ExchangeClock clock(whole, slowest, degrees);
  add_exchange_times(graph, clock);
  if (graph.own_times) {
    graph.own_times = std::make_shared<ExchangingProfiles>(std::move(graph.own_times), whole, slowest, degrees);
  }
  return graph;
}

}  // namespace stagecraft
