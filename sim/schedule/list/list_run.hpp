#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/list/input_board.hpp"
#include "sim/schedule/list/pipeline_work.hpp"
#include "sim/schedule/list/update_board.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// Which operations a run has. One of backwards alone begins with all inputs that come from forwards.
enum class Passes : std::uint8_t { Both, Forwards, Backwards };

/// What a device does next that could start a forward as well as a backward. A replica has no forward to start while as
/// many of its microbatches are in flight as its cap says.
enum class Turn : std::uint8_t {
  Backward,     ///< the backward
  Forward,      ///< the forward
  Alternating,  ///< a backward after a forward, and the other way round
  Strict,       ///< the forward, for whose inputs it waits: 1F1B with a shorter warm-up
};

/// How backwards run in halves. A microbatch is in flight until its weight half starts.
struct Halves {
  std::vector<std::int64_t> warmups;  ///< by stage: the most forwards before the first backward
  /// A weight half fills the time of an idle device if no input is known to arrive within this part of the half's time.
  double gap = 1.0;
  bool fill_at_end = false;  ///< or as soon as the device is idle, once all forwards have started
};

/// What an idle device takes of the operations that are ready.
struct ListRule {
  Turn turn = Turn::Backward;
  bool deepest_first = false;      ///< the latest stage; or the oldest microbatch
  std::vector<std::int64_t> caps;  ///< by stage, on the microbatches in flight on each replica
  Passes passes = Passes::Both;
  std::optional<Halves> halves = {};  ///< none for whole backwards
};

/// An action of a device's order, and when it starts.
struct TimedAction {
  Seconds start;
  Action action;
};
/// **Shape** by device, in the order in which the plan's replicas name them first.
using TimedOrders = std::vector<std::vector<TimedAction>>;

/// A run of a plan by a rule, with the times of its work: a device that is idle starts a ready operation at once. Among
/// operations of the same kind the one of the oldest microbatch goes first, of the earlier stage for forwards and of
/// the later one for backwards; or with `deepest_first` the one of the latest stage, of the oldest microbatch. The
/// orders of its devices are those in which the work starts, so they cannot deadlock. In an asynchronous run updates
/// hold backwards up (`UpdateBoard`). Weight halves run when nothing else is ready, the oldest first. A copy is a run
/// of its own from there on.
class ListRun {
 public:
  /// Of the first `microbatches` of the plan. **Requires** caps of at least 1, with which the stages can run in turn
  /// (`warmups`) if the turn is strict, and for an asynchronous run whole backwards and work with updates.
  ListRun(std::shared_ptr<const PlacedPlan> placed, std::shared_ptr<const PipelineWork> work, ListRule rule,
          bool synchronous, std::int64_t microbatches);

  /// The next segment of the orders: up to the last passes of the microbatches before `end`.
  /// **Cost** O(operations · (stages of a device + log operations)) over the run.
  [[nodiscard]] Schedule take(std::int64_t end);
  /// The same with the starts of its actions.
  [[nodiscard]] TimedOrders take_timed(std::int64_t end);
  /// The same without its orders, which are lost.
  void skip(std::int64_t end);
  /// The end of the last segment taken.
  [[nodiscard]] std::int64_t taken() const { return taken_; }
  /// By microbatch: the end of its last backward or weight half, of those taken.
  [[nodiscard]] const std::vector<Seconds>& ends() const { return ends_; }

 private:
  struct Started {
    std::int64_t forwards = 0;
    std::int64_t backwards = 0;
    std::int64_t weights = 0;  ///< halves
    bool was_forward = false;  ///< the last one of the first two kinds
  };
  using Rank = std::array<std::int64_t, 3>;      ///< smaller goes first
  using Wake = std::pair<Seconds, std::size_t>;  ///< when a device may be able to start something

  [[nodiscard]] std::int64_t completed(ReplicaId id) const;
  void run_until(std::int64_t end);
  void wake(std::size_t device, Seconds at);
  [[nodiscard]] std::optional<LocalWork> first_of(std::size_t device, Seconds now) const;
  [[nodiscard]] bool is_ready(const LocalWork& work, Seconds now) const;
  [[nodiscard]] bool has_room(ReplicaId id) const;
  [[nodiscard]] std::optional<ReplicaId> weight_of(std::size_t device, Seconds now) const;
  [[nodiscard]] bool may_fill(ReplicaId id, Seconds now) const;
  [[nodiscard]] Rank rank_of(const LocalWork& work) const;
  void start(const LocalWork& work, Seconds now);
  void start_weight(ReplicaId id, Seconds now);
  void note(const LocalWork& work, ActionKind kind, Seconds begin);
  void end_backward(const LocalWork& work, Seconds end);
  [[nodiscard]] std::vector<TimedAction> take_actions(std::size_t device, std::int64_t end);

  std::shared_ptr<const PlacedPlan> placed_;
  std::shared_ptr<const PipelineWork> work_;
  ListRule rule_;
  DeviceRow row_;
  InputBoard board_;
  std::optional<UpdateBoard> updates_;  ///< of an asynchronous run
  IndexVector<ReplicaId, Started> started_;
  std::vector<Seconds> free_;  ///< by device
  TimedOrders actions_;        ///< not taken yet
  std::vector<Wake> wakes_;    ///< a heap, the earliest first
  std::vector<Seconds> ends_;
  std::int64_t taken_ = 0;
  bool keeps_orders_ = true;
};

/// Device orders of the first `microbatches` of a synchronous plan, by `ListRun`.
[[nodiscard]] Schedule order_by_list(const std::shared_ptr<const KeptPlan>& kept,
                                     const std::shared_ptr<const PipelineWork>& work, const ListRule& rule,
                                     std::int64_t microbatches);

/// A run of stages without layers, placed so, in which a forward takes a second, a backward two, and tensors no time.
[[nodiscard]] ListRun unit_run(const Placement& placement, const ListRule& rule, std::int64_t microbatches);

/// Those of the whole plan in which every operation takes one round: in each round a device runs one of its ready
/// operations, backwards first.
[[nodiscard]] Schedule order_by_rounds(const std::shared_ptr<const KeptPlan>& kept,
                                       const std::vector<std::int64_t>& caps, bool synchronous);

/// Those of GPipe for the whole plan: each device runs all forwards of its stages, then all backwards. They are two
/// runs one after the other, so that no backward starts before the last forward of the plan has ended.
[[nodiscard]] Schedule order_by_phases(const std::shared_ptr<const KeptPlan>& kept,
                                       const std::shared_ptr<const PipelineWork>& work);

}  // namespace stagecraft
