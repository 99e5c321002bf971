#pragma once

#include "sim/schedule/gather_units.hpp"
#include "sim/schedule/lowering/pass_writer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// A pass that has been appended together with those of other replicas.
struct AppendedPass {
  OpId end;
  std::vector<OpId> completes;  ///< by bucket of gradients, what completes it
};

/// Brings passes of a stage's replicas together that gather the stage's weights (`Training::zero` 3): they are appended
/// when every replica with as many microbatches has come to its own of the same kind and number. Replicas that come to
/// their passes in different orders wait for each other for ever, as they would in a collective.
///
/// Passes are appended unit by unit, of all replicas together. Weights come one unit ahead: they are gathered when the
/// unit before the last one has been computed on all devices, which then give up its weights. So a device has the
/// weights of two units at most. After a unit of a backward come the reduce-scatters of gradients that it completes.
class JointPasses {
 public:
  /// All must outlive it.
  JointPasses(LoweringState& state, DividedState& divided, PassWriter& writer);

  /// The replica has come to a pass, whose forward waits for the backward `after`. Returns whether the passes of all
  /// have been appended. **Throws** InputError on a ready lane.
  [[nodiscard]] bool arrive(const PassTask& task, OpId after);
  /// Whether it has come to a pass that is not appended.
  [[nodiscard]] bool waits(ReplicaId replica) const { return waits_[replica] != 0; }
  [[nodiscard]] bool is_appended(ReplicaId replica) const { return appended_[replica].has_value(); }
  /// The pass that has been appended for it, once.
  [[nodiscard]] AppendedPass take(ReplicaId replica) {
    AppendedPass pass = std::move(*appended_[replica]);
    appended_[replica].reset();
    return pass;
  }
  /// Replicas count their passes anew.
  void begin_next_iteration() { had_.clear(); }
  [[nodiscard]] OpId oldest() const;

 private:
  using Number = std::pair<ActionKind, std::int64_t>;  ///< the kind of a pass, and how many its replica has had before
  struct Arrived {
    Action action;  ///< orders forget theirs when they take further ones
    ReplicaId replica;
    OpId after;
  };
  struct Pass {
    PassTask task;
    OpId after;
    Op forward = {};
    ExchangePart exchange = {};  ///< at the forward's end
    std::optional<BackwardSteps> steps = {};
    OpId last = OpId::none();
  };

  /// A unit that a replica has computed.
  struct Unit {
    std::int64_t number = -1;  ///< among the units of its ring's passes
    OpId end = OpId::none();
  };

  void append(const std::vector<Arrived>& arrived);
  void append_unit(Pass& pass, const GatherUnit& unit, std::int64_t number, OpId weights);
  void reduce_after_unit(const std::vector<Pass>& passes, std::size_t before);
  [[nodiscard]] std::vector<OpId> before_gather(ReplicaId replica, std::int64_t number) const;

  LoweringState& state_;
  DividedState& divided_;
  PassWriter& writer_;
  std::map<std::pair<StageId, Number>, std::vector<Arrived>> arrived_;
  std::map<std::pair<ReplicaId, ActionKind>, std::int64_t> had_;  ///< passes to which replicas have come so far
  IndexVector<ReplicaId, char> waits_;
  IndexVector<ReplicaId, std::optional<AppendedPass>> appended_;
  IndexVector<ReplicaId, std::array<Unit, 2>> units_;  ///< the last two of each
  std::map<StageId, std::int64_t> begun_;              ///< units of passes so far
};

}  // namespace stagecraft
