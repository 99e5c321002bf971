#include "sim/schedule/transfer_ends.hpp"

namespace stagecraft {

TransferEnds::TransferEnds(const std::vector<Boundary>& boundaries, const Replicas& replicas) : replicas_(replicas) {
  for (auto& ends : by_stage_) ends.resize(replicas.size());  // no stage is without a replica
  for (std::size_t i = 0; i < boundaries.size(); ++i) {
    by_stage_.back()[boundaries[i].from.value()].push_back({i, boundaries[i].to});
    by_stage_.front()[boundaries[i].to.value()].push_back({i, boundaries[i].from});
  }
}

std::vector<BoundaryEnd> TransferEnds::of(const Action& mark) const {
  const auto device = [&](StageId stage) {
    return replicas_[replicas_.runners(stage, mark.microbatch).front()].device;
  };
  std::vector<BoundaryEnd> ends = all(mark);
  std::erase_if(ends, [&](const BoundaryEnd& end) { return device(end.peer) == device(mark.stage); });
  return ends;
}

}  // namespace stagecraft
