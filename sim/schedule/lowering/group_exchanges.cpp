#include "sim/schedule/lowering/group_exchanges.hpp"

#include "sim/schedule/joined_exchanges.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

ExchangePart split_off(Op& op, Seconds exchange, const std::vector<Exchange>* exchanges) {
  constexpr double kAlmost = 1.0 - 1e-9;  // half a backward may miss the exchange's time by rounding
  const bool is_cut = op.seconds < exchange * kAlmost;
  exchange = std::min(exchange, op.seconds);
  op.seconds -= exchange;
  return {exchange, is_cut ? nullptr : exchanges};
}

const std::vector<CollectivePhase>& GroupExchanges::phases_of(ReplicaId replica,
                                                              const std::vector<Exchange>& exchanges) {
  const auto known = known_[replica].find(exchanges);
  if (known != known_[replica].end()) return known->second;
  return known_[replica].emplace(exchanges, make(replica, exchanges)).first->second;
}

std::vector<CollectivePhase> GroupExchanges::make(ReplicaId replica, const std::vector<Exchange>& exchanges) const {
  const Platform& platform = state_.shape.platform();
  const std::span<const DeviceId> members = state_.replicas().members(replica);
  Group group;
  group.devices.assign(members.begin(), members.end());
  std::vector<CollectivePhase> phases;
  for (const ExchangedPhase& joined : joined_exchanges(platform, group, state_.shape.plan().degrees, exchanges)) {
    CollectivePhase& phase = phases.emplace_back();
    phase.latency = joined.latency;
    for (const ExchangedBytes& sent : joined.flows) {
      Op flow;
      flow.from = platform.place(sent.from);
      flow.to = platform.place(sent.to);
      flow.bytes = sent.bytes;
      flow.seconds = sent.seconds;
      phase.flows.push_back(flow);
    }
  }
  return phases;
}

OpId GroupExchanges::append(ReplicaId replica, std::uint32_t microbatch, const std::vector<Exchange>& exchanges,
                            OpId before) {
  const CollectiveOps ops{{}, state_.computation(replica, OpKind::ExchangeFlow, microbatch), {}};
  return append_phases(state_.writer, phases_of(replica, exchanges), ops, {before});
}

}  // namespace stagecraft
