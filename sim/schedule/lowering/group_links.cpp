#include "sim/schedule/lowering/group_links.hpp"

#include "sim/model/bandwidths.hpp"
#include "sim/schedule/exchange_phases.hpp"
#include "sim/schedule/exchange_rings.hpp"
#include "sim/schedule/memory_ledger.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace stagecraft {
namespace {

/// The algorithm of an exchange may depend on its bytes: those of a small and of a large one.
constexpr Bytes kSmallExchange{1 << 10};
constexpr Bytes kLargeExchange{1 << 30};

Exchange::Kind attention_exchange(ContextAttention attention) {
  switch (attention) {
    case ContextAttention::Ring: return Exchange::Kind::Shift;
    case ContextAttention::AllGather: return Exchange::Kind::AllReduce;
    case ContextAttention::AllToAll: return Exchange::Kind::AllToAll;
  }
  return Exchange::Kind::AllReduce;
}

class GroupLinks {
 public:
  explicit GroupLinks(const RunShape& shape)
      : shape_(shape),
        platform_(shape.platform()),
        replicas_(shape.replicas()),
        group_on_(platform_.links.size(), kNobody),
        links_of_(replicas_.devices().size()) {}

  [[nodiscard]] IndexVector<ReplicaId, char> find(const std::vector<std::int64_t>& weight_versions) {
    for (std::size_t group = 0; group < links_of_.size(); ++group) add_exchanges(group);
    add_boundaries();
    for (const RingBuckets::Ring& ring : shape_.rings().rings) add_gradients(ring);
    for (const ReplicaId replica : replicas_.all()) {
      if (copies_to_host(replica, weight_versions)) add_copies(replica);
    }
    IndexVector<ReplicaId, char> found;
    const auto is_shared = [&](LinkId link) { return group_on_[link.value()] == kSeveral; };
    for (const ReplicaId replica : replicas_.all()) {
      found.push_back(std::ranges::any_of(links_of_[shape_.device_index(replica)], is_shared) ? 1 : 0);
    }
    return found;
  }

 private:
  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kSeveral = kNobody - 1;

  /// The links of a way, or of a leg of it. Valid until the next call.
  [[nodiscard]] const std::vector<LinkId>& links(PlaceId from, PlaceId to, Leg leg = Leg::Whole) {
    route_.links.clear();
    if (from != to && !find_route(platform_, from, to, leg, route_)) route_.links.clear();
    return route_.links;
  }

  void add_exchanges(std::size_t group) {
    const std::span<const DeviceId> members = replicas_.members(replicas_.on(replicas_.devices()[group]).front());
    Group all;
    all.devices.assign(members.begin(), members.end());
    const Degrees& degrees = shape_.plan().degrees;
    using Kind = Exchange::Kind;
    add_exchanges(group, exchanging(all, degrees, Exchange::Among::Tensor), Kind::AllReduce);
    add_exchanges(group, exchanging(all, degrees, Exchange::Among::Context), attention_exchange(degrees.attention));
    add_exchanges(group, exchanging(all, degrees, Exchange::Among::Expert), Kind::AllToAll);
  }

  void add_exchanges(std::size_t group, const MemberRings& sets, Exchange::Kind kind) {
    if (sets.front().size() < 2) return;
    for (const Bytes bytes : {kSmallExchange, kLargeExchange}) {
      for (const AllReducePhase& phase : exchange_phases(platform_, sets, kind, bytes).phases) {
        for (const AllReduceFlow& flow : phase.flows) {
          for (const LinkId link : links(platform_.place(flow.from), platform_.place(flow.to))) add_link(group, link);
        }
      }
    }
  }

  void add_link(std::size_t group, LinkId link) {
    const auto number = static_cast<std::uint32_t>(group);
    std::uint32_t& on = group_on_[link.value()];
    if (on == number) return;
    links_of_[group].push_back(link);
    on = on == kNobody ? number : kSeveral;
  }

  /// Something that is no exchange crosses the links.
  void share(const std::vector<LinkId>& crossed) {
    for (const LinkId link : crossed) {
      std::uint32_t& on = group_on_[link.value()];
      if (on != kNobody) on = kSeveral;
    }
  }

  void add_boundaries() {
    const std::int64_t round = std::min(round_of(replicas_), shape_.plan().microbatches);
    for (std::int64_t at = 0; at < round; ++at) {
      const auto microbatch = static_cast<std::uint32_t>(at);
      for (const StageId stage : indices<StageId>(shape_.plan().stages.size())) {
        for (const ReplicaId sender : replicas_.runners(stage, microbatch)) add_boundaries_of(sender, microbatch);
      }
    }
  }

  void add_boundaries_of(ReplicaId sender, std::uint32_t microbatch) {
    for (const Target& target : shape_[sender].forward_targets) {
      const bool takes_turns = target.replica.is_none();
      add_boundary(sender, takes_turns ? replicas_.runners(target.stage, microbatch).front() : target.replica);
    }
  }

  void add_boundary(ReplicaId sender, ReplicaId receiver) {
    if (replicas_[sender].device == replicas_[receiver].device) return;
    for (std::size_t i = 0; i < replicas_.group_size(); ++i) {
      const DeviceId from = replicas_.members(sender)[i];
      const DeviceId to = replicas_.members(receiver)[i];
      share_boundary(from, to);
      share_boundary(to, from);
    }
  }

  void share_boundary(DeviceId from, DeviceId to) {
    if (platform_.spec.transport == Transport::Direct) {
      share(links(platform_.place(from), platform_.place(to)));
      return;
    }
    for (const Leg leg : boundary_legs(platform_, from, to)) {
      share(links(platform_.place(from), platform_.place(to), leg));
    }
  }

  void add_gradients(const RingBuckets::Ring& ring) {
    if (ring.buckets.empty()) return;
    const Degrees& degrees = replicas_.degrees();
    const ExchangeRings rings = exchange_rings(platform_, replicas_, ring.members);
    share_all_reduces(rings.plain);
    if (degrees.expert != degrees.tensor) share_all_reduces(rings.experts);
  }

  void share_all_reduces(const MemberRings& rings) {
    if (rings.front().size() < 2) return;
    for (const Bytes bytes : {kSmallExchange, kLargeExchange}) {
      for (const AllReducePhase& phase : all_reduce(platform_, rings, bytes).phases) {
        for (const AllReduceFlow& flow : phase.flows) {
          share(links(platform_.place(flow.from), platform_.place(flow.to)));
        }
      }
    }
  }

  [[nodiscard]] bool copies_to_host(ReplicaId replica, const std::vector<std::int64_t>& weight_versions) const {
    const std::size_t stage = replicas_[replica].stage.value();
    return moves_versions(shape_.plan().stages[stage], weight_versions[stage]) ||
           std::ranges::any_of(shape_[replica].work.programs.different(),
                               [](const StageProgram& program) { return !program.swapped.empty(); });
  }

  void add_copies(ReplicaId replica) {
    for (const DeviceId member : replicas_.members(replica)) {
      const HostId host = platform_.devices[member].host;
      if (host.is_none()) continue;
      share(links(platform_.place(member), platform_.place(host)));
      share(links(platform_.place(host), platform_.place(member)));
    }
  }

  const RunShape& shape_;
  const Platform& platform_;
  const Replicas& replicas_;
  std::vector<std::uint32_t> group_on_;        ///< by link: the group whose exchanges cross it, if no others do
  std::vector<std::vector<LinkId>> links_of_;  ///< by group: what its exchanges cross
  Route route_;
};

}  // namespace

IndexVector<ReplicaId, char> groups_that_share_links(const RunShape& shape,
                                                     const std::vector<std::int64_t>& weight_versions) {
  if (!shape.platform().spec.collectives.table.empty()) {
    IndexVector<ReplicaId, char> none(shape.replicas().size());
    return none;
  }
  return GroupLinks(shape).find(weight_versions);
}

}  // namespace stagecraft
