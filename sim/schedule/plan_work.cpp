#include "sim/schedule/plan_work.hpp"

#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/exchange_time.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace stagecraft {

/// Makes the different kinds of work of one stage.
class PlanWork::Maker {
 public:
  Maker(const LayerGraph& graph, const Platform& platform, const Plan& plan, StageId stage, PlanWork& work)
      : platform_(platform),
        degrees_(graph.degrees),
        work_(work),
        programs_(graph, platform, plan.stages[stage.value()]) {
    const StageBuckets buckets = work.rings_.of(stage);
    const bool has_buckets = !buckets.gradients.empty() || !buckets.weights.empty();
    if (plan.training.bucket() == Bytes(0) || !has_buckets) return;
    in_buckets_.emplace(graph, platform, plan.stages[stage.value()], buckets);
  }

  /// The position in `different_` of the work of a replica on the devices of `group`.
  std::uint32_t of(const Group& group, const Share& share) {
    const DeviceId device = slowest_of(group);
    const Device& on = platform_.devices[device];
    const std::pair<Seconds, Seconds> pace = pace_of(group);
    const auto [known, is_new] =
        known_.try_emplace({on.kind, on.slowdown, share.end - share.begin, share.of, pace.first, pace.second},
                           static_cast<std::uint32_t>(work_.different_.size()));
    if (is_new) work_.different_.push_back(make(device, group, share));
    return known->second;
  }

 private:
  /// The device of the group for which all others wait.
  [[nodiscard]] DeviceId slowest_of(const Group& group) const {
    return *std::ranges::max_element(group.devices, {},
                                     [&](DeviceId device) { return platform_.devices[device].slowdown; });
  }

  /// What tells groups apart whose exchanges take different times: those of a small and of a large tensor.
  [[nodiscard]] std::pair<Seconds, Seconds> pace_of(const Group& group) const {
    if (group.is_alone()) return {};
    constexpr Bytes kSmall{1 << 10};
    constexpr Bytes kLarge{1 << 30};
    const auto time = [&](Bytes bytes) { return all_reduce_in(platform_, group, bytes); };
    return {time(kSmall), time(kLarge)};
  }

  [[nodiscard]] ReplicaWork make(DeviceId device, const Group& group, const Share& share) {
    ExchangeClock clock(platform_, group, degrees_);
    const auto time_of = [&](const std::vector<Exchange>& exchanges) { return clock.time(exchanges); };
    ReplicaWork work{with_exchanges(programs_of(programs_, device, share), time_of), {}};
    if (!in_buckets_) return work;
    const TurnPrograms completing = with_exchanges(programs_of(*in_buckets_, device, share), time_of);
    for (const StageProgram& program : completing.different()) {
      work.in_buckets.push_back(program.backward);
      if (program.exchanges) work.exchanges_in_buckets.push_back(program.exchanges->steps);
      if (!program.forward_parts.empty()) work.forwards_in_buckets.push_back(program.forward_parts);
    }
    return work;
  }

  [[nodiscard]] TurnPrograms programs_of(ReplicaTurns& programs, DeviceId device, const Share& share) {
    try {
      return programs.of(device, share);
    } catch (const InputError& error) {
      if (!work_.unknown_speed_) work_.unknown_speed_ = error;
      return programs.memory_of(device, share);
    }
  }

  const Platform& platform_;
  Degrees degrees_;
  PlanWork& work_;
  ReplicaTurns programs_;
  std::optional<ReplicaTurns> in_buckets_;
  std::map<std::tuple<DeviceKindId, double, std::int64_t, std::int64_t, Seconds, Seconds>, std::uint32_t> known_;
};

PlanWork::PlanWork(const LayerGraph& graph, const Platform& platform, const Plan& plan, const Replicas& replicas)
    : copies_(held_copies(graph)),
      boundaries_(stagecraft::boundaries(graph, plan)),
      tied_(tied_rings(graph, plan, replicas)),
      rings_(ring_buckets(graph, plan, replicas, tied_)) {
  for (const StageId id : indices<StageId>(plan.stages.size())) {
    const Stage& stage = plan.stages[id.value()];
    Maker maker(graph, platform, plan, id, *this);
    for (std::size_t at = 0; at < stage.replicas.size(); ++at) {
      of_replica_.push_back(maker.of(stage.replicas[at], replicas[replicas.of(id)[at]].share));
    }
    const Share largest = largest_share(stage, graph.microbatch_size);
    std::vector<std::uint32_t>& at_largest = at_largest_share_.emplace_back();
    for (const Group& group : stage.replicas) at_largest.push_back(maker.of(group, largest));
  }
}

}  // namespace stagecraft
