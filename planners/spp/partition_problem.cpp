#include "planners/shared/chain.hpp"
#include "planners/spp/partition.hpp"
#include "sim/model/graph_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stagecraft::spp {
namespace {

/// Sums over the layers before each position. Each layer is rounded to a grid that is so coarse that all sums are
/// exact, and so fine that the total changes by less than 2^-50 of it. With exact sums equal layers have equal
/// differences wherever they are, so that ties are real ties.
std::vector<Seconds> exact_sums(const std::vector<Seconds>& layers) {
  constexpr int kBits = 52;
  constexpr Seconds kLeast{1e-250};  // large enough that the grid does not underflow
  Seconds all;
  for (Seconds seconds : layers) all += seconds;
  const double grid = std::ldexp(1.0, std::ilogb(std::max(all, kLeast).value()) - kBits + 1);
  std::vector<Seconds> sums(1);
  for (Seconds seconds : layers) sums.push_back(sums.back() + Seconds(std::nearbyint(seconds.value() / grid) * grid));
  return sums;
}

}  // namespace

PartitionProblem partition_problem(const PlanRequest& request, const UsedBandwidths& bandwidths,
                                   const std::vector<DeviceId>& order) {
  const LayerTotals sums = totals(request.graph);
  require_countable(request.graph, sums.forward + sums.backward);
  const std::vector<LayerId> layers = canonical_order(request.graph);
  std::vector<Seconds> compute;
  std::vector<Seconds> forward;
  std::vector<Seconds> backward;
  std::vector<Bytes> parameters(1);
  for (LayerId id : layers) {
    const Layer& layer = request.graph.layers[id];
    compute.push_back(layer.forward + layer.backward);
    forward.push_back(layer.forward);
    backward.push_back(layer.backward);
    parameters.push_back(parameters.back() + layer.parameters);
  }
  PartitionProblem problem{.compute = exact_sums(compute),
                           .parameters = std::move(parameters),
                           .forward = {},
                           .backward = {},
                           .bucket = request.training.bucket(),
                           .crossing = crossing_bytes(request.graph, layers),
                           .bandwidths = {PairBandwidths(order.size()), PairBandwidths(order.size())},
                           .factors = {},
                           .update_bandwidth = {},
                           .update_copies = 1 + request.training.gradient_copies + request.training.optimizer_copies,
                           .microbatches = request.microbatches};
  if (problem.bucket > Bytes(0)) {
    problem.forward = exact_sums(forward);
    problem.backward = exact_sums(backward);
  }
  for (std::size_t position = 0; position < order.size(); ++position) {
    const DeviceId device = order[position];
    const DeviceKind& kind = request.platform.kind(device);
    problem.factors.push_back(require_time_factor(request.platform, request.graph.device_kind, device));
    problem.update_bandwidth.push_back(kind.update_bandwidth.value_or(BytesPerSecond(kNever.value())));
    for (std::size_t other = 0; other < position; ++other) {
      const DeviceId a(other);
      const DeviceId b(position);
      problem.bandwidths.rings.set(a, b, bandwidths.rings.between(order[other], device));
      problem.bandwidths.channels.set(a, b, bandwidths.channels.between(order[other], device));
    }
  }
  return problem;
}

}  // namespace stagecraft::spp
