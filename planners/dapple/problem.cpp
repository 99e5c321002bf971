#include "planners/dapple/problem.hpp"

#include "planners/shared/costs/chain.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/stage_exchange.hpp"
#include "planners/shared/costs/work.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/stage_program.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace stagecraft::dapple {

// The search looks at so many plans that a stage must cost next to nothing. What depends on layers is a difference of
// two sums over the layers before a position. What depends on devices is their number, the slowest one's factor, and
// for each byte of parameters the time of the optimizer's step; and of the all-reduce, which sets on nodes
// that are alike have in common. Channels, and rings on the analytic network, are as fast as their slowest pair of
// devices, so the work that remains is to find the slowest pair of two sets.
//
// Where distance decides, as in nodes under one switch, that needs no search. A table is *ordered* if a pair (a, b)
// never has more bandwidth than (a, b - 1) and (a + 1, b). By induction it then has no more than any pair that lies
// between a and b, so the outermost pairs are the slowest. A device has infinite bandwidth with itself, so that such a
// pair never decides a minimum, and a device alone takes no time for its all-reduce.

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Bytes kGigabyte{1'000'000'000};

void add_layers(const LayerGraph& graph, Problem& problem) {
  const std::vector<LayerId> order = canonical_order(graph);
  problem.forward = problem.backward = {0.0};
  for (LayerId id : order) {
    const Layer& layer = graph.layers[id];
    problem.forward.push_back(problem.forward.back() + layer.forward.value());
    problem.backward.push_back(problem.backward.back() + layer.backward.value());
  }
  problem.parameters = parameter_sums(graph, order);
  for (Bytes bytes : cut_bytes_with_ends(graph, order)) problem.cut_bytes.push_back(static_cast<double>(bytes.value()));
}

void add_exchange(const PlanRequest& request, Problem& problem) {
  problem.exchange = update_exchange(request.training);
  if (request.training.bucket() == Bytes(0)) return;
  const Bytes bucket(std::max<std::int64_t>(1, request.training.bucket().value() / problem.exchange.gradients));
  for (const DividedTimes::Sums& sums : problem.divided.all_sums()) {
    problem.exchanges.emplace_back(problem.parameters, sums.backward, bucket);
  }
}

void require_pairs(const Platform& platform) {
  const auto devices = static_cast<double>(platform.devices.size());
  require_affordable({.what = "the bandwidth of every two of " + std::to_string(platform.devices.size()) + " devices",
                      .bytes = 2.0 * sizeof(double) * devices * devices,
                      .remedy = "plan for fewer devices"});
}

PairTable table_of(PairBandwidths pairs) {
  PairTable table{std::move(pairs), kInfinity, true};
  const std::size_t devices = table.pairs.size();
  const auto between = [&](std::size_t a, std::size_t b) {
    return table.pairs.between(DeviceId(a), DeviceId(b)).value();
  };
  for (std::size_t a = 0; a < devices; ++a) table.pairs.set(DeviceId(a), DeviceId(a), BytesPerSecond(kInfinity));
  for (std::size_t a = 0; a < devices; ++a) {
    for (std::size_t b = a + 1; b < devices; ++b) {
      table.least_bandwidth = std::min(table.least_bandwidth, between(a, b));
      if (between(a, b) > std::min(between(a, b - 1), between(a + 1, b))) table.is_ordered = false;
    }
  }
  return table;
}

/// A channel is a block of the list whose forward and backward take turns, so it carries one direction at a time.
void add_bandwidths(const PlanRequest& request, Problem& problem) {
  PairBandwidths rings = pair_bandwidths(request.platform, PairUse::Collective);
  const PairShare share = pair_share(request.options, false);
  problem.channels = table_of(channel_bandwidths(request.platform, rings, share));
  if (share != PairShare::Nominal) {
    problem.all_reduces.emplace(request.platform, expert_part(request.graph));
  } else if (request.platform.spec.transport != Transport::Direct) {
    problem.rings = table_of(std::move(rings));
  }
}

/// Steps for each member of an all-reduce that is not known yet.
constexpr double kStepsPerMember = 5000.0;

AllReduceTime all_reduce_among(const Problem& problem, const std::vector<DeviceId>& devices, double& steps) {
  if (problem.all_reduces) {
    const std::size_t before = problem.all_reduces->size();
    const AllReduceTime& time = problem.all_reduces->among(devices);
    if (problem.all_reduces->size() > before) steps += kStepsPerMember * static_cast<double>(devices.size());
    return time;
  }
  const PairTable& rings = problem.rings ? *problem.rings : problem.channels;
  const auto count = static_cast<double>(devices.size());
  return AllReduceTime(2.0 * (count - 1.0) / count / rings.slowest_pair(devices, devices, steps));
}

}  // namespace

double PairTable::slowest_pair(const std::vector<DeviceId>& from, const std::vector<DeviceId>& to,
                               double& steps) const {
  const auto between = [this](DeviceId a, DeviceId b) { return pairs.between(a, b).value(); };
  // A pair that encloses another one has no more bandwidth, and every pair is enclosed by one of these two.
  if (is_ordered) return std::min(between(from.front(), to.back()), between(from.back(), to.front()));
  double slowest = kInfinity;
  for (DeviceId a : from) {
    for (DeviceId b : to) slowest = std::min(slowest, between(a, b));
    steps += static_cast<double>(to.size());
    if (slowest <= least_bandwidth) break;
  }
  return slowest;
}

DeviceSet Problem::device_set(std::vector<DeviceId> chosen, double& steps) const {
  DeviceSet set;
  std::pair slowest(0.0, 0.0);
  std::pair latest(0.0, 0.0);
  for (DeviceId device : chosen) {
    const std::size_t at = device.value();
    slowest = std::max(slowest, std::pair(factors[at], pass_overheads[at]));
    latest = std::max(latest, std::pair(update[at], update_overheads[at]));
  }
  std::tie(set.factor, set.pass_overhead) = slowest;
  std::tie(set.update, set.update_overhead) = latest;
  if (exchange.is_divided) set.update /= static_cast<double>(chosen.size());
  steps += static_cast<double>(chosen.size());
  set.all_reduce = all_reduce_among(*this, chosen, steps);
  set.devices = std::move(chosen);
  return set;
}

double Problem::speed(const DeviceSet& from, const DeviceSet& to, double& steps) const {
  const auto flows = static_cast<double>(from.devices.size() * to.devices.size());
  return channels.slowest_pair(from.devices, to.devices, steps) * flows;
}

Problem problem_of(const PlanRequest& request) {
  require_pairs(request.platform);
  Problem problem;
  add_layers(request.graph, problem);
  problem.divided = DividedTimes(request.graph, request.platform.devices.size());
  add_exchange(request, problem);
  add_bandwidths(request, problem);
  for (DeviceId a : indices(request.platform.devices)) {
    problem.factors.push_back(slowest_factor(request.graph, request.platform, {a}));
    const DeviceKind& kind = request.platform.kind(a);
    problem.pass_overheads.push_back(pass_overhead(request.platform, a).value());
    problem.update_overheads.push_back(kind.update_overhead.value());
    const Seconds update = update_time(kind, request.training, {.bytes = kGigabyte, .begins_update = false});
    problem.update.push_back(update.value() / static_cast<double>(kGigabyte.value()));
  }
  problem.nodes = nodes_of(request.platform);
  problem.microbatches = request.microbatches;
  problem.most_replicas = static_cast<std::size_t>(request.graph.microbatch_size);
  return problem;
}

std::vector<Block> blocks_of(const Problem& problem, const std::vector<PlacedStage>& stages) {
  std::vector<Block> blocks;
  DeviceSet before;
  double steps = 0.0;  // not counted: each stage is looked at only once
  for (const PlacedStage& stage : stages) {
    DeviceSet set = problem.device_set(stage.devices, steps);
    if (!blocks.empty()) blocks.push_back(problem.channel(stage.begin, problem.speed(before, set, steps)));
    blocks.push_back(problem.stage(stage.begin, stage.end, set));
    before = std::move(set);
  }
  return blocks;
}

}  // namespace stagecraft::dapple
