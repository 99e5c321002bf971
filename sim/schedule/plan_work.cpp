#include "sim/schedule/plan_work.hpp"

#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"

#include <map>
#include <tuple>
#include <utility>

namespace stagecraft {

/// Makes the different kinds of work of one stage.
class PlanWork::Maker {
 public:
  Maker(const LayerGraph& graph, const Platform& platform, const Plan& plan, StageId stage, PlanWork& work)
      : platform_(platform), work_(work), programs_(graph, platform, plan.stages[stage.value()]) {
    const bool has_buckets = plan.training.bucket() > Bytes(0) && !work.rings_.by_stage[stage.value()].empty();
    if (has_buckets) in_buckets_.emplace(graph, platform, plan.stages[stage.value()], work.rings_.of(stage));
  }

  /// The position in `different_` of the work of a replica on `device`.
  std::uint32_t of(DeviceId device, const Share& share) {
    const Device& on = platform_.devices[device];
    const auto [known, is_new] = known_.try_emplace({on.kind, on.slowdown, share.end - share.begin, share.of},
                                                    static_cast<std::uint32_t>(work_.different_.size()));
    if (is_new) work_.different_.push_back(make(device, share));
    return known->second;
  }

 private:
  [[nodiscard]] ReplicaWork make(DeviceId device, const Share& share) {
    ReplicaWork work{programs_of(programs_, device, share), {}};
    if (!in_buckets_) return work;
    const TurnPrograms completing = programs_of(*in_buckets_, device, share);
    for (const StageProgram& program : completing.different()) work.in_buckets.push_back(program.backward);
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
  PlanWork& work_;
  ReplicaTurns programs_;
  std::optional<ReplicaTurns> in_buckets_;
  std::map<std::tuple<DeviceKindId, double, std::int64_t, std::int64_t>, std::uint32_t> known_;
};

PlanWork::PlanWork(const LayerGraph& graph, const Platform& platform, const Plan& plan, const Replicas& replicas)
    : boundaries_(stagecraft::boundaries(graph, plan)),
      tied_(tied_rings(graph, plan, replicas)),
      rings_(ring_buckets(graph, plan, replicas, tied_)) {
  for (const StageId id : indices<StageId>(plan.stages.size())) {
    const Stage& stage = plan.stages[id.value()];
    Maker maker(graph, platform, plan, id, *this);
    for (const ReplicaId replica : replicas.of(id)) {
      of_replica_.push_back(maker.of(replicas[replica].device, replicas[replica].share));
    }
    const Share largest = largest_share(stage, graph.microbatch_size);
    std::vector<std::uint32_t>& at_largest = at_largest_share_.emplace_back();
    for (const DeviceId device : devices_of(stage)) at_largest.push_back(maker.of(device, largest));
  }
}

}  // namespace stagecraft
