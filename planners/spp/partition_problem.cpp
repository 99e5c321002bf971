#include "planners/shared/costs/all_reduces.hpp"
#include "planners/shared/costs/chain.hpp"
#include "planners/spp/partition.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/model/run_sums.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

namespace stagecraft::spp {
namespace {

std::vector<Seconds> in_seconds(const std::vector<double>& sums) {
  std::vector<Seconds> seconds;
  for (double sum : sums) seconds.emplace_back(sum);
  return seconds;
}

}  // namespace

PartitionProblem partition_problem(const PlanRequest& request, const UsedBandwidths& bandwidths,
                                   const std::vector<DeviceId>& order) {
  const LayerTotals sums = totals(request.graph);
  require_countable(request.graph, sums.forward + sums.backward);
  const std::vector<LayerId> layers = canonical_order(request.graph);
  DividedTimes divided(request.graph, order.size());
  const UpdateExchange exchange = update_exchange(request.training);
  const Bytes whole = request.training.bucket();
  const Bytes bucket(whole > Bytes(0) ? std::max<std::int64_t>(1, whole.value() / exchange.gradients) : 0);
  PartitionProblem problem{.compute = in_seconds(divided.of(1).total),
                           .parameters = parameter_sums(request.graph, layers),
                           .forward = {},
                           .backward = {},
                           .divided = {},
                           .bucket = bucket,
                           .exchange = exchange,
                           .crossing = cut_bytes_with_ends(request.graph, layers),
                           .bandwidths = {PairBandwidths(order.size()), PairBandwidths(order.size())},
                           .all_reduces = {},
                           .factors = {},
                           .update_bandwidth = {},
                           .update_copies = 1 + request.training.gradient_copies + request.training.optimizer_copies,
                           .microbatches = request.microbatches};
  if (problem.bucket > Bytes(0)) {
    problem.forward = in_seconds(divided.of(1).forward);
    problem.backward = in_seconds(divided.of(1).backward);
  }
  problem.divided = std::move(divided);
  for (std::size_t position = 0; position < order.size(); ++position) {
    const DeviceId device = order[position];
    const DeviceKind& kind = request.platform.kind(device);
    problem.factors.push_back(require_time_factor(request.platform, request.graph.device_kind, device));
    problem.update_bandwidth.push_back(kind.update_bandwidth.value_or(BytesPerSecond(kNever.value())));
    problem.overheads.push_back({pass_overhead(request.platform, device), kind.update_overhead});
    for (std::size_t other = 0; other < position; ++other) {
      const DeviceId a(other);
      const DeviceId b(position);
      problem.bandwidths.rings.set(a, b, bandwidths.rings.between(order[other], device));
      problem.bandwidths.channels.set(a, b, bandwidths.channels.between(order[other], device));
    }
  }
  return problem;
}

StageAllReduces stage_all_reduces(AllReduces all_reduces, const std::vector<DeviceId>& order,
                                  std::int64_t most_replicas) {
  StageAllReduces result;
  const std::size_t devices = order.size();
  result.of_range.resize((devices + 1) * (devices + 1));
  std::map<const AllReduceTime*, std::size_t> positions;
  for (std::size_t first = 0; first < devices; ++first) {
    std::vector<DeviceId> members;
    for (std::size_t last = first + 1; last <= devices && std::ssize(members) < most_replicas; ++last) {
      members.push_back(order[last - 1]);
      const AllReduceTime& among = all_reduces.among(members);
      const auto [position, is_new] = positions.emplace(&among, result.distinct.size());
      if (is_new) result.distinct.push_back(among);
      result.of_range[first * (devices + 1) + last] = position->second;
    }
  }
  return result;
}

}  // namespace stagecraft::spp
