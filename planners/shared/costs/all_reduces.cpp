#include "planners/shared/costs/all_reduces.hpp"

#include "sim/schedule/exchange_rings.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

namespace stagecraft {
namespace {

/// Whether the way between two nodes is the same for all pairs of nodes, in a fat tree for all with their lowest common
/// switch on one level, or in a torus for all that are equally far apart in each dimension. Where a switch has several
/// uplinks, the devices decide which of them a flow takes.
bool are_alike(const Network& network) {
  if (const auto* tree = std::get_if<FatTreeNetwork>(&network)) {
    return std::ranges::all_of(tree->levels, [](const FatTreeLevel& level) { return level.uplinks == 1; });
  }
  return !std::holds_alternative<DragonflyNetwork>(network);
}

/// The numbers of things in the order in which they come.
class Arrivals {
 public:
  std::uint32_t number_of(std::uint32_t thing) {
    // A thing that comes again is mostly the last one.
    for (std::size_t i = things_.size(); i-- > 0;) {
      if (things_[i] == thing) return static_cast<std::uint32_t>(i);
    }
    things_.push_back(thing);
    return static_cast<std::uint32_t>(things_.size() - 1);
  }

 private:
  std::vector<std::uint32_t> things_;
};

/// The node as it is numbered in a torus that is moved so that `origin` is node 0.
std::uint32_t moved(const TorusNetwork& torus, std::uint32_t node, std::uint32_t origin) {
  std::uint32_t moved = 0;
  std::uint32_t stride = 1;
  for (const std::uint32_t size : torus.sizes) {
    moved += (node / stride % size + size - origin / stride % size) % size * stride;
    stride *= size;
  }
  return moved;
}

}  // namespace

AllReduceTime::AllReduceTime(const Platform& platform, const MemberRings& rings) : members_(rings.front().size()) {
  if (members_ < 2) return;
  if (!platform.spec.collectives.table.empty()) {
    table_of_ = &platform;
    return;
  }
  constexpr Bytes kMany{1'000'000'000'000'000};
  const Seconds each = collective_latency(platform, rings, Exchange::Kind::AllReduce);
  per_byte_ = (all_reduce_time(platform, rings, kMany) - each).value() / static_cast<double>(kMany.value());
  each_ = each.value();
}

double AllReduceTime::tabulated(double bytes, std::size_t all_reduces) const {
  const auto count = static_cast<double>(all_reduces);
  const Bytes each{static_cast<std::int64_t>(std::ceil(bytes / count))};
  Seconds longest = *tabulated_all_reduce(*table_of_, members_, each);
  for (const auto& [size, bandwidth] : table_of_->spec.collectives.table) {
    if (size < each) longest = std::max(longest, *tabulated_all_reduce(*table_of_, members_, size));
  }
  return longest.value() * count;
}

AllReduces::AllReduces(const Platform& platform, double experts) : platform_(&platform), experts_(experts) {
  const auto* form = std::get_if<NodeForm>(&platform.spec.form);
  are_nodes_alike_ = form != nullptr && are_alike(form->network);
  const auto* tree = form != nullptr ? std::get_if<FatTreeNetwork>(&form->network) : nullptr;
  if (tree == nullptr) return;
  std::uint64_t nodes = 1;
  for (const FatTreeLevel& level : tree->levels) groups_.push_back(nodes *= level.children);
}

AllReduces::Likeness AllReduces::likeness(const std::vector<DeviceId>& members) const {
  Likeness likeness;
  if (!are_nodes_alike_) {
    for (const DeviceId member : members) likeness.push_back(member.value());
    return likeness;
  }
  likeness.reserve(members.size() * (3 + groups_.size()));
  const auto* torus = std::get_if<TorusNetwork>(&std::get<NodeForm>(platform_->spec.form).network);
  const NodeId first = platform_->devices[members.front()].node;
  Arrivals nodes;
  std::vector<Arrivals> switches(groups_.size());
  for (const DeviceId member : members) {
    const NodeId id = platform_->devices[member].node;
    const Node& node = platform_->nodes[id];
    likeness.push_back(node.kind.value());
    likeness.push_back(member.value() - node.first_device.value());
    likeness.push_back(torus != nullptr ? moved(*torus, id.value(), first.value()) : nodes.number_of(id.value()));
    for (std::size_t level = 0; level < groups_.size(); ++level) {
      likeness.push_back(switches[level].number_of(static_cast<std::uint32_t>(id.value() / groups_[level])));
    }
  }
  return likeness;
}

const AllReduceTime& AllReduces::among(const std::vector<DeviceId>& members) {
  const auto [found, is_new] = known_.try_emplace(likeness(members));
  if (!is_new) return found->second;
  const ExchangeRings rings = exchange_rings(*platform_, members);
  AllReduceTime& time = found->second;
  time = AllReduceTime(*rings.platform, rings.plain);
  if (platform_->members && experts_ > 0.0 && rings.platform->spec.collectives.table.empty()) {
    const AllReduceTime of_experts(*rings.platform, rings.experts);
    time = time.with(of_experts, experts_);
  }
  return time;
}

}  // namespace stagecraft
