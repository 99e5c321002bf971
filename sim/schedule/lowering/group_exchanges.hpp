#pragma once

#include "sim/model/exchange.hpp"
#include "sim/schedule/lowering/collective_phases.hpp"
#include "sim/schedule/lowering/lowering_state.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace stagecraft {

/// What the members of a group exchange after an operation.
struct ExchangePart {
  Seconds seconds;
  const std::vector<Exchange>* exchanges = nullptr;  ///< those that share links, if they do
};

/// Leaves to `op` what it computes, and returns the rest: the exchange of the group that follows it. An action may give
/// the whole a time that is too short for the exchange, which then takes what there is, and shares no link.
[[nodiscard]] ExchangePart split_off(Op& op, Seconds exchange, const std::vector<Exchange>* exchanges);

/// Lowers exchanges of groups as flows, where these share links with something else. What a group exchanges after a
/// pass is one collective (`joined_exchanges`), whose phases follow each other as those of an all-reduce.
class GroupExchanges {
 public:
  /// `state` must outlive it.
  explicit GroupExchanges(LoweringState& state) : state_(state), known_(state.replicas().size()) {}

  /// Appends the flows of exchanges that begin after `before`. Returns an operation that ends when all of them have.
  /// **Requires** a replica that shares links (`WorkerShape`), and an exchange that is not hidden.
  OpId append(ReplicaId replica, std::uint32_t microbatch, const std::vector<Exchange>& exchanges, OpId before);

 private:
  [[nodiscard]] const std::vector<CollectivePhase>& phases_of(ReplicaId replica,
                                                              const std::vector<Exchange>& exchanges);
  [[nodiscard]] std::vector<CollectivePhase> make(ReplicaId replica, const std::vector<Exchange>& exchanges) const;

  LoweringState& state_;
  IndexVector<ReplicaId, std::map<std::vector<Exchange>, std::vector<CollectivePhase>>> known_;
};

}  // namespace stagecraft
