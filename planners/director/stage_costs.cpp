#include "planners/director/stage_costs.hpp"

#include "planners/shared/costs/chain.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/stage_program.hpp"

#include <algorithm>
#include <set>

namespace stagecraft::director {

StageCosts::StageCosts(const PlanRequest& request)
    : times_(request.graph, request.platform.devices.size()),
      parameters_(parameter_sums(request.graph, canonical_order(request.graph))),
      microbatches_(request.microbatches),
      most_parts_(static_cast<std::size_t>(request.graph.microbatch_size)) {
  for (const Bytes bytes : cut_bytes_with_ends(request.graph, canonical_order(request.graph))) {
    cut_bytes_.push_back(static_cast<double>(bytes.value()));
  }
  for (const DeviceId device : indices(request.platform.devices)) {
    factors_.push_back(slowest_factor(request.graph, request.platform, {device}));
    overheads_.push_back(stagecraft::pass_overhead(request.platform, device).value());
  }
}

double StageCosts::forward(std::size_t begin, std::size_t end, std::size_t replicas, bool divides) const {
  const std::size_t parts = divides ? replicas : 1;
  const std::vector<double>& sums = times_.of(parts).forward;
  return (sums[end] - sums[begin]) / times_.divisor(parts);
}

double StageCosts::backward(std::size_t begin, std::size_t end, std::size_t replicas, bool divides) const {
  const std::size_t parts = divides ? replicas : 1;
  const std::vector<double>& sums = times_.of(parts).backward;
  return (sums[end] - sums[begin]) / times_.divisor(parts);
}

double StageCosts::rounds(std::size_t replicas, bool divides) const {
  const auto count = static_cast<std::int64_t>(divides ? 1 : replicas);
  const std::int64_t most = (microbatches_ + count - 1) / count;
  return static_cast<double>(most);
}

std::vector<std::vector<DeviceId>> StageCosts::device_sets() const {
  constexpr std::size_t kMostSets = 4;
  const std::set<double> factors(factors_.begin(), factors_.end());
  const auto as_fast_as = [&](double factor) {
    std::vector<DeviceId> devices;
    for (const DeviceId device : indices(factors_)) {
      if (factors_[device] <= factor) devices.push_back(device);
    }
    return devices;
  };
  std::vector<std::vector<DeviceId>> sets{as_fast_as(*factors.rbegin())};
  for (const double factor : factors) {
    if (factor < *factors.rbegin() && sets.size() < kMostSets) sets.push_back(as_fast_as(factor));
  }
  return sets;
}

double StageCosts::load(const Piece& piece) const {
  const std::size_t replicas = piece.devices.size();
  double speeds = 0.0;
  for (const DeviceId device : piece.devices) speeds += 1.0 / factor(device);
  const bool are_alike = std::ranges::all_of(
      piece.devices, [&](DeviceId device) { return factor(device) == factor(piece.devices.front()); });
  if (!are_alike) {  // shares follow the speeds
    const double whole = forward(piece.begin, piece.end, 1, false) + backward(piece.begin, piece.end, 1, false);
    return static_cast<double>(microbatches_) * whole / speeds;
  }
  double overhead = 0.0;
  for (const DeviceId device : piece.devices) overhead = std::max(overhead, pass_overhead(device));
  const double pass = forward(piece.begin, piece.end, replicas, piece.divides) +
                      backward(piece.begin, piece.end, replicas, piece.divides);
  return rounds(replicas, piece.divides) * (pass * factor(piece.devices.front()) + 2.0 * overhead);
}

}  // namespace stagecraft::director
