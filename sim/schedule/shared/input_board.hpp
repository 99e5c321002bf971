#pragma once

#include "sim/base/index.hpp"
#include "sim/schedule/capped/pipeline_work.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <cstdint>
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
class InputBoard {
 public:
  /// Of the plan's first `microbatches`. **Requires** that `kept` and `work` outlive it.
  InputBoard(const KeptPlan& kept, const PipelineWork& work, std::int64_t microbatches, InputRule rule);

  /// When the last input arrives from another stage; 0 without any, `kNever` while some input is not sent.
  [[nodiscard]] Seconds arrival(const LocalWork& of) const;
  [[nodiscard]] std::int64_t count(ReplicaId replica) const { return counts_[replica]; }
  [[nodiscard]] Seconds time(const LocalWork& of) const {
    const BlockTimes& times = work_.computations[of.replica];
    return of.backward ? times.backward : times.forward;
  }
  /// The operation ends, and its outputs go. Returns the replicas for which the last input of an operation was among
  /// them, until the next call. **Requires** that a device's operations come in their order.
  [[nodiscard]] const std::vector<LocalWork>& end(const LocalWork& of, Seconds at);

 private:
  struct Inputs {
    std::uint32_t missing = 0;  ///< not sent yet
    Seconds last;               ///< of those sent
  };
  [[nodiscard]] std::uint32_t senders(StageId stage, ReplicaId to) const;
  [[nodiscard]] bool exchange(ReplicaId a, ReplicaId b) const;
  [[nodiscard]] std::vector<Inputs>& inputs(ReplicaId replica, bool backward) {
    return (backward ? backwards_ : forwards_)[replica];
  }

  const Replicas& replicas_;
  const PipelineWork& work_;
  Connections connections_;
  IndexVector<ReplicaId, std::int64_t> counts_;
  IndexVector<ReplicaId, std::vector<Inputs>> forwards_;  ///< by local number
  IndexVector<ReplicaId, std::vector<Inputs>> backwards_;
  std::vector<std::vector<std::size_t>> from_;  ///< by stage, in `PipelineWork::crossings`
  std::vector<std::vector<std::size_t>> to_;
  std::vector<LocalWork> completed_;
};

/// The devices of a plan, in the order in which its replicas name them first.
struct DeviceRow {
  std::vector<DeviceId> devices;
  IndexVector<ReplicaId, std::size_t> position;  ///< of each replica's device
};
[[nodiscard]] DeviceRow device_row(const Replicas& replicas);

}  // namespace stagecraft
