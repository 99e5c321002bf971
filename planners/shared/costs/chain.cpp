#include "planners/shared/costs/chain.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/stage_program.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace stagecraft {
namespace {

BytesPerSecond require_bandwidth(const Platform& platform) {
  if (const auto bandwidth = smallest_pair_bandwidth(platform)) return *bandwidth;
  throw InputError(
      "two devices of platform " + quote(platform.spec.name) + " are not connected", {},
      "this planner may put any two devices next to each other: give their nodes a nic; in an explicit platform, add a "
      "link, a route or a default_link");
}

/// Without the overhead, which a stage has once for all its layers.
Seconds update_of_bytes(const DeviceKind& kind, const Training& training, Bytes parameters) {
  return update_time(kind, training, {.bytes = parameters, .begins_update = false});
}

/// The kind of device whose optimizer step takes longest.
const DeviceKind& slowest_updater(const Platform& platform, const Training& training) {
  constexpr Bytes kSome{std::int64_t{1} << 30};
  const std::vector<DeviceId> devices = all_devices(platform);
  return platform.kind(*std::ranges::max_element(
      devices, {}, [&](DeviceId device) { return update_of_bytes(platform.kind(device), training, kSome); }));
}

}  // namespace

void require_countable(const LayerGraph& graph, Seconds all) {
  if (all < to_seconds(kLongestChain)) return;
  throw InputError(
      "a microbatch of model " + quote(graph.name) + " takes " + format_number(all.value()) + " s on one device", {},
      "the limit of this planner is 52 days");
}

std::vector<Bytes> cut_bytes_with_ends(const LayerGraph& graph, const std::vector<LayerId>& order) {
  std::vector<Bytes> bytes = cut_bytes(graph, order);
  bytes.insert(bytes.begin(), Bytes(0));
  bytes.emplace_back(0);
  return bytes;
}

Chain::Chain(const PlanRequest& request, std::int64_t weight_versions)
    : order_(canonical_order(request.graph)),
      device_count_(static_cast<std::uint32_t>(request.platform.devices.size())),
      capacity_(smallest_capacity(request.platform)),
      forward_(order_.size() + 1),
      backward_(order_.size() + 1),
      parameters_(parameter_sums(request.graph, order_)),
      copies_(kept_state(request.training, {Bytes(1), weight_versions}).total().value()),
      stash_(stash_sums(request.graph, order_)),
      transfer_(order_.size() + 1),
      crossings_(request.graph, order_),
      boundary_buffers_(device_count_ > 1 ? request.training.boundary_buffers : 0) {
  const DeviceKind& updater = slowest_updater(request.platform, request.training);
  const double factor = slowest_factor(request.graph, request.platform, all_devices(request.platform));
  pass_overhead_ = ticks_up(largest_pass_overhead(request.platform, all_devices(request.platform)));
  update_overhead_ = ticks_up(slowest_update(request.platform, request.training, all_devices(request.platform), {}));
  const LayerTotals sums = totals(request.graph);
  require_countable(request.graph, (sums.forward + sums.backward) * factor +
                                       to_seconds(overhead()) * static_cast<double>(order_.size()) +
                                       update_of_bytes(updater, request.training, sums.parameters));
  std::vector<Bytes> workspace;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Layer& layer = request.graph.layers[order_[i]];
    forward_[i + 1] = forward_[i] + ticks_up(layer.forward * factor);
    const Seconds update = update_of_bytes(updater, request.training, layer.parameters);
    backward_[i + 1] = backward_[i] + ticks_up(layer.backward * factor) + ticks_up(update);
    workspace.push_back(layer.workspace);
  }
  workspace_ = RunMaxima(std::move(workspace));
  if (device_count_ == 1) return;
  const BytesPerSecond bandwidth = require_bandwidth(request.platform);
  const std::vector<Bytes> bytes = cut_bytes_with_ends(request.graph, order_);
  for (std::size_t cut = 1; cut < order_.size(); ++cut) {
    transfer_[cut] = ticks_up(std::min(bytes[cut] / bandwidth, to_seconds(kLongestTransfer)));
  }
}

std::int64_t Chain::most_in_flight(std::size_t begin, std::size_t end, Bytes buffers, Bytes capacity) const {
  const Bytes room = capacity - memory(begin, end, 0, buffers);
  if (room < Bytes(0)) return 0;
  const Bytes each = stash(begin, end);
  return each > Bytes(0) ? room.value() / each.value() : std::numeric_limits<std::int64_t>::max();
}

std::vector<Bytes> stage_buffers(const Chain& chain, std::span<const ChainStage> stages) {
  std::vector<Bytes> bytes = exchanged_bytes(chain.crossings(), stages);
  for (Bytes& each : bytes) each = chain.buffers(each);
  return bytes;
}

std::vector<ChainResource> resources_of(const Chain& chain, std::span<const ChainStage> stages) {
  std::vector<ChainResource> resources;
  for (const ChainStage& stage : stages) {
    if (stage.begin > 0) resources.push_back({chain.transfer(stage.begin), chain.transfer(stage.begin)});
    resources.push_back({chain.forward(stage.begin, stage.end), chain.backward(stage.begin, stage.end)});
  }
  return resources;
}

}  // namespace stagecraft
