#include "experiments/run/variation.hpp"

#include "sim/model/profile_noise.hpp"
#include "sim/model/time_factors.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

constexpr double kProfileNoise = 0.1;
constexpr std::uint64_t kNoiseSeeds = 5;

/// Multiplies bandwidth and latency of links.
struct LinkChange {
  double bandwidth = 1.0;
  double latency = 1.0;

  void apply(LinkSpec& link) const {
    link.bandwidth = bandwidth * link.bandwidth;
    link.latency = latency * link.latency;
  }
  void apply(std::optional<LinkSpec>& link) const {
    if (link) apply(*link);
  }
  void apply(std::optional<HostSpec>& host) const {
    if (host) apply(host->link);
  }

  void apply(Interconnect& interconnect) const {
    apply(interconnect.link);
    if (auto* pcie = std::get_if<PcieNode>(&interconnect.shape)) {
      apply(pcie->uplink);
      apply(pcie->socket_link);
    }
  }

  void apply(SwitchedNetwork& network) const { apply(network.port); }
  void apply(FullNetwork& network) const { apply(network.link); }
  void apply(RailsNetwork& network) const { apply(network.uplink); }
  void apply(TorusNetwork& network) const { apply(network.link); }
  /// The bandwidth of its uplinks follows from that of the ports.
  void apply(FatTreeNetwork& network) const {
    apply(network.port);
    for (FatTreeLevel& level : network.levels) level.latency = latency * level.latency;
  }
  void apply(DragonflyNetwork& network) const {
    apply(network.local_link);
    apply(network.global_link);
  }
};

void change_links(NodeForm& form, const LinkChange& inside, const LinkChange& between) {
  for (NodeKind& kind : form.node_kinds) {
    if (kind.interconnect) inside.apply(*kind.interconnect);
    inside.apply(kind.host);
    if (kind.nic) between.apply(kind.nic->link);
  }
  std::visit([&](auto& network) { between.apply(network); }, form.network);
}

void change_links(ExplicitForm& form, const LinkChange& inside, const LinkChange&) {
  for (ExplicitDevice& device : form.devices) inside.apply(device.host);
  for (ExplicitLink& link : form.links) inside.apply(link.link);
  inside.apply(form.default_link);
}

/// Whether the change does anything on this platform. Compute, bandwidths and noise always do.
bool changes(const Platform& platform, const Variation& change) {
  if (change.network != 1.0) return platform.nodes.size() > 1;
  return change.latency == 1.0 || varied(platform.spec, change) != platform.spec;
}

/// What the change does to the times of a model's layers.
IndexVector<LayerId, TimeFactors> factors_of(const Variation& change, std::size_t layers) {
  IndexVector<LayerId, TimeFactors> factors =
      change.noise ? profile_noise(layers, *change.noise) : IndexVector<LayerId, TimeFactors>(layers);
  for (TimeFactors& each : factors) {
    each.forward /= change.compute;
    each.backward /= change.compute;
  }
  return factors;
}

}  // namespace

std::vector<NamedVariation> usual_variations(const Platform& platform) {
  std::vector<NamedVariation> all{{"bandwidth x 0.5", {.bandwidth = 0.5}},
                                  {"bandwidth x 2", {.bandwidth = 2.0}},
                                  {"bandwidth between nodes x 0.5", {.network = 0.5}},
                                  {"bandwidth between nodes x 2", {.network = 2.0}},
                                  {"compute x 0.8", {.compute = 0.8}},
                                  {"compute x 1.25", {.compute = 1.25}},
                                  {"collective efficiency x 0.5", {.collective_efficiency = 0.5}},
                                  {"latency x 10", {.latency = 10.0}}};
  for (std::uint64_t seed = 1; seed <= kNoiseSeeds; ++seed) {
    all.push_back({"profile noise 10 %, seed " + std::to_string(seed), {.noise = ProfileNoise{kProfileNoise, seed}}});
  }
  std::erase_if(all, [&](const NamedVariation& each) { return !changes(platform, each.change); });
  return all;
}

PlatformSpec varied(PlatformSpec spec, const Variation& change) {
  const LinkChange inside{change.bandwidth, change.latency};
  const LinkChange between{change.bandwidth * change.network, change.latency};
  std::visit([&](auto& form) { change_links(form, inside, between); }, spec.form);
  for (DeviceKind& kind : spec.device_kinds) {
    if (kind.update_bandwidth) kind.update_bandwidth = change.compute * *kind.update_bandwidth;
    kind.pass_overhead = kind.pass_overhead / change.compute;
    kind.update_overhead = kind.update_overhead / change.compute;
  }
  spec.collectives.efficiency *= change.collective_efficiency;
  if (std::optional<double>& share = spec.collectives.network_efficiency) *share *= change.collective_efficiency;
  spec.collectives.latency = change.latency * spec.collectives.latency;
  for (auto& [size, measured] : spec.collectives.table) {
    measured = change.bandwidth * change.collective_efficiency * measured;
  }
  return spec;
}

LayerGraph varied(LayerGraph graph, const Variation& change) {
  const std::size_t layers = graph.layers.size();
  return with_time_factors(std::move(graph), factors_of(change, layers));
}

Model varied(Model model, const Variation& change) {
  if (change == Variation()) return model;
  const std::size_t layers = model.profiles.front().layers.size();
  return with_time_factors(std::move(model), factors_of(change, layers));
}

Inputs varied(Inputs inputs, const Variation& change) {
  if (change == Variation()) return inputs;
  inputs.model = varied(std::move(inputs.model), change);
  inputs.platform = build_platform(varied(std::move(inputs.platform.spec), change));
  return inputs;
}

}  // namespace stagecraft
