#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/lowering/lowering_state.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// A pass whose replica has come to it, with its inputs.
struct ArrivedPass {
  ReplicaId replica;
  Action action;
  OpId after = OpId::none();  ///< a backward that it waits for (`Action::after`)
};

/// A pass that has been appended together with those of other replicas.
struct AppendedPass {
  OpId end;
  std::vector<OpId> completes;  ///< by bucket of gradients, what completes it
};

/// Brings passes of a stage's replicas together that gather the stage's weights (`Training::zero` 3): a pass is lowered
/// when every replica with as many microbatches has come to its own of the same kind and number. Replicas that come to
/// their passes in different orders wait for each other for ever, as they would in a collective.
///
/// Weights come one unit of a pass ahead: they are gathered when the unit before the last one has been computed on all
/// devices, which then give up its weights. So a device has the whole weights of two units at most.
class JointPasses {
 public:
  /// `state` must outlive it.
  explicit JointPasses(const LoweringState& state);

  /// The replica has come to a pass; a further call changes nothing. Returns the passes of all `replicas` when the last
  /// has come, else none.
  [[nodiscard]] std::vector<ArrivedPass> arrive(const ArrivedPass& pass, const std::vector<ReplicaId>& replicas);
  /// Whether it has come to a pass that is not appended.
  [[nodiscard]] bool waits(ReplicaId replica) const { return waits_[replica] != 0; }
  void append(ReplicaId replica, AppendedPass pass) { appended_[replica] = std::move(pass); }
  /// The pass that has been appended for it, once; none before.
  [[nodiscard]] std::optional<AppendedPass> take(ReplicaId replica) { return std::exchange(appended_[replica], {}); }

  /// The operation ends a unit on the replica's device.
  void note_unit(ReplicaId replica, OpId end);
  /// What a gather waits for that is for the next unit of these replicas, or for the `second` from now on.
  [[nodiscard]] std::vector<OpId> before_gather(const std::vector<ArrivedPass>& passes, bool second) const;
  [[nodiscard]] OpId oldest() const;

 private:
  using Number = std::pair<ActionKind, std::int64_t>;  ///< the kind of a pass, and which of its replica's it is

  const LoweringState& state_;
  std::map<std::pair<StageId, Number>, std::vector<ArrivedPass>> arrived_;
  IndexVector<ReplicaId, char> waits_;
  IndexVector<ReplicaId, std::optional<AppendedPass>> appended_;
  std::vector<std::array<OpId, 2>> units_;  ///< by device: the ends of its last two units
};

}  // namespace stagecraft
