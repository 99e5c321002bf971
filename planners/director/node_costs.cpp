#include "planners/director/node_costs.hpp"

#include "planners/director/dealing.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/stage_exchange.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/schedule/memory_ledger.hpp"

#include <algorithm>

namespace stagecraft::director {
namespace {

double seconds_per_byte(const SmallestBandwidth& smallest) {
  return smallest.bandwidth ? 1.0 / smallest.bandwidth->value() : 0.0;
}

std::vector<std::vector<DeviceId>> nodes_with(const Platform& platform, const std::vector<DeviceId>& devices) {
  std::vector<std::vector<DeviceId>> nodes = nodes_of(platform);
  for (std::vector<DeviceId>& node : nodes) {
    std::erase_if(node, [&](DeviceId device) { return std::ranges::count(devices, device) == 0; });
  }
  std::erase_if(nodes, [](const std::vector<DeviceId>& node) { return node.empty(); });
  return nodes;
}

}  // namespace

NodeCosts::NodeCosts(const PlanRequest& request, const StageCosts& costs, const std::vector<DeviceId>& devices)
    : request_(request),
      costs_(costs),
      devices_(devices.size()),
      nodes_(nodes_with(request.platform, devices)),
      hides_exchanges_(!request.training.gradient_bucket || request.training.bucket() > Bytes(0)),
      capacity_(request.platform.capacity(devices.front())),
      exchange_(update_exchange(request.training)) {
  Seconds longest{-1};
  for (const DeviceId device : devices) {
    capacity_ = std::min(capacity_, request.platform.capacity(device));
    factor_ = std::max(factor_, costs.factor(device));
    overhead_ = std::max(overhead_, costs.pass_overhead(device));
    const Seconds step = slowest_update(request.platform, request.training, {device}, Bytes(1'000'000'000));
    if (step > longest) slowest_to_update_ = device;
    longest = std::max(longest, step);
  }
  add_links(request);
}

void NodeCosts::add_links(const PlanRequest& request) {
  const auto largest = std::ranges::max_element(nodes_, {}, &std::vector<DeviceId>::size);
  node_size_ = largest->size();
  inside_ = seconds_per_byte(smallest_bandwidth(request.platform, *largest, *largest));
  if (nodes_.size() > 1) card_ = seconds_per_byte(smallest_bandwidth(request.platform, nodes_[0], nodes_[1]));
  AllReduces all_reduces(request.platform, expert_part(request.graph));
  for (std::size_t replicas = 1; replicas <= node_size_; ++replicas) {
    packed_.push_back(all_reduces.among({largest->begin(), largest->begin() + static_cast<std::ptrdiff_t>(replicas)}));
  }
  const std::vector<DeviceId> order = in_turn(nodes_);
  for (auto end = order.begin() + 1; spread_.size() < order.size(); ++end) {
    std::vector<DeviceId> ring(order.begin(), end);
    std::ranges::sort(ring);  // it goes through one node after the other
    spread_.push_back(all_reduces.among(ring));
  }
}

NodeCosts::Stage NodeCosts::stage(std::size_t begin, std::size_t end, std::size_t replicas, bool divides,
                                  bool is_spread, const Prices& prices) const {
  Stage stage;
  stage.forward = costs_.forward(begin, end, replicas, divides) * factor_ + overhead_;
  const double backward = costs_.backward(begin, end, replicas, divides) * factor_ + overhead_;
  stage.pass = stage.forward + backward;
  stage.load = costs_.rounds(replicas, divides) * stage.pass;
  const Bytes weights = costs_.parameters(begin, end);
  const HeldParameters held{weights, 1, static_cast<std::int64_t>(replicas)};
  stage.flush = update_time(request_.platform.kind(slowest_to_update_), request_.training, held).value();
  if (replicas == 1) return stage;
  const AllReduceTime& ring = is_spread ? spread_[replicas - 1] : packed_[replicas - 1];
  const auto priced = [&](Bytes bytes) { return prices.all_reduce * ring(static_cast<double>(bytes.value())); };
  stage.load = std::max(stage.load, costs_.rounds(replicas, divides) * exchange_.each_time(weights, priced));
  const double reduced = exchange_.reduced(weights, priced);
  stage.flush += hides_exchanges_ ? std::max(0.0, reduced - backward) : reduced;
  stage.flush += exchange_.gathered_after(weights, priced);
  return stage;
}

Seconds NodeCosts::longest() const {
  const Stage whole = stage(0, costs_.layers(), 1, false, false, {});
  const auto all_layers = static_cast<double>(costs_.layers());
  double bytes = 0.0;
  for (std::size_t at = 1; at < costs_.layers(); ++at) bytes += costs_.cut_bytes(at);
  const double transfers = 2.0 * bytes * std::max(inside_, card_);
  const double overheads = 2.0 * overhead_ * all_layers;
  return Seconds(whole.load + whole.flush + static_cast<double>(costs_.microbatches()) * (transfers + overheads));
}

bool NodeCosts::fits(std::size_t begin, std::size_t end, std::size_t replicas) const {
  const HeldParameters held{costs_.parameters(begin, end), 1, static_cast<std::int64_t>(replicas)};
  return kept_state(request_.training, held).total() <= capacity_;
}

}  // namespace stagecraft::director
