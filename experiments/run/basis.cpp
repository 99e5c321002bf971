#include "experiments/run/basis.hpp"

#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/replica_programs.hpp"

#include <cstdint>

namespace stagecraft {
namespace {

using Weights = std::map<Origin, double>;

/// By device of the platform: the origins of its times, each with the work of a microbatch that has it.
IndexVector<DeviceId, Weights> weights_of(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  IndexVector<DeviceId, Weights> weights(platform.devices.size());
  const Replicas replicas(plan);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    double work = 0.0;
    for (LayerId layer : plan.stages[s].layers) {
      work += (graph.layers[layer].forward + graph.layers[layer].backward).value();
    }
    for (ReplicaId id : replicas.of(StageId(s))) {
      const Replica& replica = replicas[id];
      const std::int64_t samples = samples_of(replica.share, graph.microbatch_size);
      const Origin origin = times_origin(graph, platform, replica.device, samples);
      const double part = static_cast<double>(replica.taken) / static_cast<double>(replica.turns);
      weights[replica.device][origin] += work * static_cast<double>(samples) * part;
    }
  }
  return weights;
}

void add_computation(Basis& basis, const Weights& weights, Origin otherwise, Seconds time) {
  double sum = 0.0;
  for (const auto& [origin, weight] : weights) sum += weight;
  if (sum <= 0.0) basis[{BasisInput::Times, otherwise}] += time.value();
  if (sum <= 0.0) return;
  for (const auto& [origin, weight] : weights) basis[{BasisInput::Times, origin}] += time.value() * weight / sum;
}

}  // namespace

Basis basis_of(const LayerGraph& graph, const Platform& platform, const Plan& plan, const Report& report) {
  const IndexVector<DeviceId, Weights> weights = weights_of(graph, platform, plan);
  const PlatformOrigins& origins = platform.spec.origins;
  Basis basis;
  for (const DeviceReport& device : report.devices) {
    const TimeSplit& time = device.time;
    add_computation(basis, weights[device.device], graph.origin, time.compute + time.recompute);
    basis[{BasisInput::Links, origins.links}] += time.exposed_communication.value();
    basis[{BasisInput::Collectives, origins.collectives}] += (time.all_reduce + time.collective_wait).value();
    basis[{BasisInput::Updates, origins.updates}] += time.update.value();
  }
  double whole = 0.0;
  for (const auto& [key, seconds] : basis) whole += seconds;
  std::erase_if(basis, [](const auto& part) { return part.second <= 0.0; });
  for (auto& [key, seconds] : basis) seconds /= whole;
  return basis;
}

}  // namespace stagecraft
