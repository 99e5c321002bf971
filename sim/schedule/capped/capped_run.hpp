#pragma once

#include "sim/base/index.hpp"
#include "sim/model/schedule.hpp"
#include "sim/schedule/capped/connections.hpp"
#include "sim/schedule/capped/pipeline_work.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace stagecraft {

struct KeptPlan;

/// What a replica does next while fewer of its microbatches are in flight than its cap. At the cap it waits for a
/// backward.
enum class CappedRule : std::uint8_t {
  InTurn,         ///< it waits for its next forward: 1F1B with a shorter warm-up
  BackwardFirst,  ///< a backward if one is ready, else a forward if one is ready
  ForwardFirst,   ///< the other way round
};

/// A way to order the work of a plan whose replicas each have a device to themselves.
struct CappedOrder {
  CappedRule rule = CappedRule::InTurn;
  std::vector<std::int64_t> caps;  ///< by stage, on the microbatches in flight on each replica
};

/// A run of a plan under caps, with the times of its work. The orders of its devices are those in which the work starts
/// in the run, so they cannot deadlock. A replica runs its forwards in the order of its microbatches, and so its
/// backwards. An asynchronous run updates weights as a lowered one does (`Synchronise`): a replica's first backward
/// after an update waits for the all-reduce before the update. A copy is a run of its own from there on.
class CappedRun {
 public:
  /// Of the first `microbatches` of the plan.
  /// **Requires** caps with which the stages can run in turn (`warmups`).
  CappedRun(std::shared_ptr<const KeptPlan> kept, std::shared_ptr<const PipelineWork> work, const CappedOrder& order,
            bool synchronous, std::int64_t microbatches);

  /// The next segment of the orders: up to the backwards of the microbatches before `end`.
  /// **Cost** O(operations × log(replicas)) over the run.
  [[nodiscard]] Schedule take(std::int64_t end);
  /// The same without its orders, which are lost.
  void skip(std::int64_t end);
  /// The end of the last segment taken.
  [[nodiscard]] std::int64_t taken() const { return taken_; }
  /// By microbatch: the end of its last backward, of those taken.
  [[nodiscard]] const std::vector<Seconds>& ends() const { return ends_; }

 private:
  /// What is known of a microbatch's inputs on a replica.
  struct Inputs {
    std::uint32_t missing_forward = 0;
    std::uint32_t missing_backward = 0;
    Seconds forward;  ///< when the last input of the forward arrived, of those known
    Seconds backward;
  };
  struct Worker {
    StageId stage;
    BlockTimes times;
    std::int64_t count = 0;
    std::int64_t cap = 0;
    std::int64_t apart = 1;      ///< backwards from one update to the next
    std::int64_t forwards = 0;   ///< started
    std::int64_t backwards = 0;  ///< started
    Seconds free;
    Inputs untouched;             ///< of a microbatch of which no input is known
    std::deque<Inputs> inputs;    ///< from its first microbatch whose backward has not started
    std::vector<Action> actions;  ///< not taken yet
  };
  /// The exchange of gradients of the replicas that hold the same layers. No member is ahead of the next update.
  struct Exchange {
    std::size_t members = 0;         ///< that have had their last backward before the next update
    std::vector<Seconds> completed;  ///< by bucket: when those members have completed it
    std::int64_t updates = 0;
    Seconds end;  ///< of the last all-reduce
  };
  /// When a replica may be able to start something.
  using Wake = std::pair<Seconds, ReplicaId>;

  [[nodiscard]] Inputs& inputs(Worker& worker, std::int64_t local);
  [[nodiscard]] bool is_ready(ReplicaId id, bool backward, Seconds now);
  void run_until(std::int64_t end);
  void wake(ReplicaId id, Seconds at);
  void go_on(ReplicaId id, Seconds now);
  void start(ReplicaId id, bool backward, Seconds now);
  void send(ReplicaId id, std::uint32_t microbatch, bool backward, Seconds end);
  void arrive(ReplicaId id, std::uint32_t microbatch, bool backward, Seconds at);
  [[nodiscard]] bool exchanges(ReplicaId id) const;
  [[nodiscard]] bool updates_before(ReplicaId id) const;
  [[nodiscard]] Seconds begin_of_backward(ReplicaId id, Seconds now) const;
  void end_backward(ReplicaId id, Seconds end);
  void arrive_at_exchange(ReplicaId id, Seconds end);
  [[nodiscard]] std::vector<Action> take_actions(ReplicaId id, std::int64_t end);

  std::shared_ptr<const KeptPlan> kept_;
  std::shared_ptr<const PipelineWork> work_;
  CappedRule rule_;
  Connections connections_;
  IndexVector<ReplicaId, Worker> workers_;
  std::vector<std::vector<std::size_t>> crossings_from_;  ///< by stage, in `PipelineWork::crossings`
  std::vector<std::vector<std::size_t>> crossings_to_;
  std::vector<Exchange> exchanges_;  ///< by ring; asynchronous only
  std::vector<Wake> wakes_;          ///< a heap, the earliest first
  std::vector<Seconds> ends_;
  std::int64_t taken_ = 0;
  bool keeps_orders_ = true;
};

}  // namespace stagecraft
