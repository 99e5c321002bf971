#pragma once

#include "sim/base/index.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/list/pipeline_work.hpp"

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace stagecraft {

/// What an operation waits for besides its device.
enum class InputRule : std::uint8_t {
  Chain,    ///< the stage before it, or after it for a backward, too if they exchange nothing
  Tensors,  ///< only what sends it a tensor, as in a run of the plan
};

/// A forward or a backward of a replica, by its local number of the microbatch.
struct LocalWork {
  ReplicaId replica;
  std::int64_t local = 0;
  bool backward = false;
};

/// When the inputs of each forward and backward arrive in a run with the times of a plan's work, without contention.
/// It knows those of microbatches whose backward has not ended, so its memory is that of what is in flight.
class InputBoard {
 public:
  /// Of the plan's first `microbatches`. **Requires** that `placed` and `work` outlive it and its copies.
  InputBoard(const PlacedPlan& placed, const PipelineWork& work, std::int64_t microbatches, InputRule rule);

  /// When the last input arrives from another stage; 0 without any, `kNever` while some input is not sent.
  /// **Requires** that the backward of the microbatch has not ended.
  [[nodiscard]] Seconds arrival(const LocalWork& of) const;
  [[nodiscard]] std::int64_t count(ReplicaId replica) const { return rows_[replica].count; }
  [[nodiscard]] Seconds time(const LocalWork& of) const {
    const BlockTimes& times = work_->computations[of.replica];
    return of.backward ? times.backward : times.forward;
  }
  /// The operation ends, and its outputs go. Returns the replicas for which the last input of an operation was among
  /// them, until the next call. **Requires** that a device's operations come in their order, and the forwards of a
  /// replica in the order of its microbatches, as its backwards.
  [[nodiscard]] const std::vector<LocalWork>& end(const LocalWork& of, Seconds at);

 private:
  struct Inputs {
    std::uint32_t missing = 0;  ///< not sent yet
    Seconds last;               ///< of those sent
  };
  struct Microbatch {
    Inputs forward;
    Inputs backward;
  };
  struct Row {
    std::int64_t count = 0;  ///< microbatches of the replica
    std::int64_t begin = 0;  ///< the first one whose backward has not ended
    Microbatch untouched;    ///< one of which no input is known
    std::deque<Microbatch> known;
  };
  [[nodiscard]] std::uint32_t senders(StageId stage, ReplicaId to) const;
  [[nodiscard]] bool exchange(ReplicaId a, ReplicaId b) const;
  [[nodiscard]] Inputs& inputs(const LocalWork& of);

  const Replicas* replicas_;
  const PipelineWork* work_;
  Connections connections_;
  IndexVector<ReplicaId, Row> rows_;
  std::vector<std::vector<std::size_t>> from_;  ///< by stage, in `PipelineWork::crossings`
  std::vector<std::vector<std::size_t>> to_;
  std::vector<LocalWork> completed_;
};

/// The devices of a plan, in the order in which its replicas name them first.
struct DeviceRow {
  std::vector<DeviceId> devices;
  std::vector<std::span<const ReplicaId>> on;    ///< by device, valid as long as the plan's replicas
  IndexVector<ReplicaId, std::size_t> position;  ///< of each replica's device
};
[[nodiscard]] DeviceRow device_row(const Replicas& replicas);

}  // namespace stagecraft
