#include "planners/dapple/problem.hpp"

#include "planners/chain.hpp"
#include "planners/cost_model.hpp"
#include "planners/spp/bandwidths.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/workers.hpp"

#include <algorithm>
#include <limits>

namespace stagecraft::dapple {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Bytes kGigabyte{1'000'000'000};

void add_layers(const LayerGraph& graph, Problem& problem) {
  const std::vector<LayerId> order = canonical_order(graph);
  problem.forward = problem.backward = problem.parameters = {0.0};
  for (LayerId id : order) {
    const Layer& layer = graph.layers[id];
    problem.forward.push_back(problem.forward.back() + layer.forward.value());
    problem.backward.push_back(problem.backward.back() + layer.backward.value());
    problem.parameters.push_back(problem.parameters.back() + static_cast<double>(layer.parameters.value()));
  }
  for (Bytes bytes : crossing_bytes(graph, order)) problem.crossing.push_back(static_cast<double>(bytes.value()));
}

}  // namespace

DeviceSet Problem::device_set(std::vector<DeviceId> chosen) const {
  DeviceSet set;
  double slowest = kInfinity;
  double factor = 0.0;
  for (DeviceId a : chosen) {
    factor = std::max(factor, factors[a.value()]);
    set.update = std::max(set.update, update[a.value()]);
    for (DeviceId b : chosen) {
      if (a != b) slowest = std::min(slowest, bandwidth[a.value() * devices() + b.value()]);
    }
  }
  const auto count = static_cast<double>(chosen.size());
  set.share = factor / count;
  set.ring = 2.0 * (count - 1.0) / count / slowest;
  set.devices = std::move(chosen);
  return set;
}

double Problem::speed(const DeviceSet& from, const DeviceSet& to) const {
  double slowest = kInfinity;
  for (DeviceId a : from.devices) {
    for (DeviceId b : to.devices) slowest = std::min(slowest, bandwidth[a.value() * devices() + b.value()]);
  }
  return slowest * static_cast<double>(from.devices.size() * to.devices.size());
}

Problem problem_of(const PlanRequest& request) {
  Problem problem;
  add_layers(request.graph, problem);
  const spp::PairBandwidths pairs = spp::pair_bandwidths(request.platform);
  for (DeviceId a : indices(request.platform.devices)) {
    problem.factors.push_back(slowest_factor(request.graph, request.platform, {a}));
    const Seconds update = update_time(request.platform.kind(a), request.training, kGigabyte);
    problem.update.push_back(update.value() / static_cast<double>(kGigabyte.value()));
    for (DeviceId b : indices(request.platform.devices)) {
      problem.bandwidth.push_back(a == b ? kInfinity : pairs.between(a, b).value());
    }
  }
  problem.nodes = nodes_of(request.platform);
  problem.microbatches = request.microbatches;
  problem.most_replicas = static_cast<std::size_t>(request.graph.microbatch_size);
  return problem;
}

std::vector<Block> blocks_of(const Problem& problem, const std::vector<PlacedStage>& stages) {
  std::vector<Block> blocks;
  DeviceSet before;
  for (const PlacedStage& stage : stages) {
    DeviceSet set = problem.device_set(stage.devices);
    if (!blocks.empty()) blocks.push_back(problem.channel(stage.begin, problem.speed(before, set)));
    blocks.push_back(problem.stage(stage.begin, stage.end, set));
    before = std::move(set);
  }
  return blocks;
}

}  // namespace stagecraft::dapple
