#include "experiments/report/traffic.hpp"

#include "planners/cost_model.hpp"
#include "sim/schedule/ranks.hpp"
#include "sim/schedule/workers.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stagecraft {
namespace {

class Collector {
 public:
  Collector(const LayerGraph& graph, const Platform& platform, const Plan& plan)
      : graph_(graph), platform_(platform), plan_(plan), asynchronous_(is_asynchronous(plan.schedule)) {}

  std::vector<Flow> run() {
    for (const Boundary& boundary : boundaries(graph_, plan_)) {
      cross({OpKind::Activation, boundary.from, boundary.to}, boundary.bytes);
      cross({OpKind::Gradient, boundary.to, boundary.from}, boundary.bytes);
    }
    for (StageId stage : indices<StageId>(plan_.stages.size())) {
      reduce(stage);
      swap(stage);
    }
    return std::move(flows_);
  }

 private:
  [[nodiscard]] const Stage& stage(StageId id) const { return plan_.stages[id.value()]; }

  /// Microbatches, of an iteration or of one on average, that are ≡ i mod a and ≡ j mod b.
  [[nodiscard]] double meetings(std::int64_t i, std::int64_t a, std::int64_t j, std::int64_t b) const {
    if (i % std::gcd(a, b) != j % std::gcd(a, b)) return 0.0;
    const std::int64_t cycle = std::lcm(a, b);
    if (asynchronous_) return 1.0 / static_cast<double>(cycle);
    std::int64_t first = i;
    while (first % b != j) first += a;
    if (first >= plan_.microbatches) return 0.0;
    const std::int64_t whole_cycles = (plan_.microbatches - 1 - first) / cycle;
    return static_cast<double>(whole_cycles + 1);
  }

  void cross(const TrafficCause& cause, Bytes bytes) {
    const Stage& from = stage(cause.from);
    const Stage& to = stage(cause.to);
    const std::int64_t senders = alternating_replicas(from);
    const std::int64_t receivers = alternating_replicas(to);
    for (std::size_t i = 0; i < from.devices.size(); ++i) {
      for (std::size_t j = 0; j < to.devices.size(); ++j) {
        const Share share = receivers > 1 ? flow_share(replica_share(from, i), Share{})
                                          : flow_share(replica_share(from, i), replica_share(to, j));
        if (share.end == share.begin) continue;
        const double count = meetings(senders > 1 ? static_cast<std::int64_t>(i) : 0, senders,
                                      receivers > 1 ? static_cast<std::int64_t>(j) : 0, receivers);
        add(cause, platform_.place(from.devices[i]), platform_.place(to.devices[j]),
            count * static_cast<double>((share * bytes).value()));
      }
    }
  }

  /// The ring of all that hold these layers, added with the first stage that does.
  void reduce(StageId id) {
    std::vector<DeviceId> ring;
    for (StageId other : indices<StageId>(plan_.stages.size())) {
      if (stage(other).layers != stage(id).layers) continue;
      if (other < id) return;
      ring.insert(ring.end(), stage(other).devices.begin(), stage(other).devices.end());
    }
    if (ring.size() < 2) return;
    Bytes parameters;
    for (LayerId layer : stage(id).layers) parameters += graph_.layers[layer].parameters;
    const auto n = static_cast<std::int64_t>(ring.size());
    const double rounds = asynchronous_ ? 1.0 / static_cast<double>(alternating_replicas(stage(id))) : 1.0;
    const double bytes = rounds * static_cast<double>(share_up(parameters, 2 * (n - 1), n).value());
    for (std::size_t i = 0; i < ring.size(); ++i) {
      add({OpKind::AllReduce, id, id}, platform_.place(ring[i]), platform_.place(ring[(i + 1) % ring.size()]), bytes);
    }
  }

  void swap(StageId id) {
    if (stage(id).swap.empty()) return;
    const Bytes swapped = stage_work(graph_, stage(id)).swapped;
    const std::int64_t replicas = alternating_replicas(stage(id));
    for (std::size_t r = 0; r < stage(id).devices.size(); ++r) {
      const DeviceId device = stage(id).devices[r];
      const double count = meetings(replicas > 1 ? static_cast<std::int64_t>(r) : 0, replicas, 0, 1);
      const double bytes = count * static_cast<double>((replica_share(stage(id), r) * swapped).value());
      const PlaceId host = platform_.place(platform_.devices[device].host);
      add({OpKind::SwapOut, id, id}, platform_.place(device), host, bytes);
      add({OpKind::SwapIn, id, id}, host, platform_.place(device), bytes);
    }
  }

  void add(const TrafficCause& cause, PlaceId source, PlaceId target, double bytes) {
    if (source != target && bytes > 0.0) flows_.push_back({cause, source, target, bytes});
  }

  const LayerGraph& graph_;
  const Platform& platform_;
  const Plan& plan_;
  bool asynchronous_;
  std::vector<Flow> flows_;
};

Loads sorted(const std::map<TrafficCause, double>& sums) {
  Loads loads(sums.begin(), sums.end());
  std::ranges::stable_sort(loads, std::greater<>(), &Loads::value_type::second);
  return loads;
}

}  // namespace

std::string to_string(const TrafficCause& cause) {
  const std::string from = std::to_string(cause.from.value());
  const std::string way = from + " -> " + std::to_string(cause.to.value());
  switch (cause.kind) {
    case OpKind::Activation: return "activations " + way;
    case OpKind::Gradient: return "gradients " + way;
    case OpKind::AllReduce: return "all-reduce of stage " + from;
    case OpKind::SwapOut: return "swap-out of stage " + from;
    default: return "swap-in of stage " + from;
  }
}

std::vector<Flow> traffic(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  return Collector(graph, platform, plan).run();
}

Loads loads_by_cause(const std::vector<Flow>& flows) {
  std::map<TrafficCause, double> sums;
  for (const Flow& flow : flows) sums[flow.cause] += flow.bytes;
  return sorted(sums);
}

std::map<LinkId, Loads> loads_by_link(const Platform& platform, const std::vector<Flow>& flows) {
  std::map<LinkId, std::map<TrafficCause, double>> sums;
  Route route;
  for (const Flow& flow : flows) {
    if (!find_route(platform, flow.source, flow.target, route)) continue;
    for (LinkId link : route.links) sums[link][flow.cause] += flow.bytes;
  }
  std::map<LinkId, Loads> loads;
  for (const auto& [link, by_cause] : sums) loads[link] = sorted(by_cause);
  return loads;
}

}  // namespace stagecraft
