#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/capped/pipeline_work.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Which operations a run has. One of backwards alone begins with all inputs that come from forwards.
enum class Passes : std::uint8_t { Both, Forwards, Backwards };

/// What an idle device takes of the operations that are ready.
struct ListRule {
  bool forward_first = false;      ///< forwards before backwards, or the other way round
  bool deepest_first = false;      ///< the latest stage; or the oldest microbatch
  std::vector<std::int64_t> caps;  ///< by stage, on the microbatches in flight on each replica
  Passes passes = Passes::Both;
};

/// Device orders of the first `microbatches` of a synchronous plan whose devices hold several stages, from a run with
/// the times of its work. A device that is idle starts a ready operation at once. Among operations of the same kind the
/// one of the oldest microbatch goes first, of the earlier stage for forwards and of the later one for backwards; or
/// with `deepest_first` the one of the latest stage, of the oldest microbatch. Since orders come from a run, they
/// cannot deadlock. **Requires** caps of at least 1. **Cost** O(operations · (stages of a device + log operations)).
[[nodiscard]] Schedule order_by_list(const KeptPlan& kept, const PipelineWork& work, const ListRule& rule,
                                     std::int64_t microbatches);

/// Those of GPipe for the whole plan: each device runs all forwards of its stages, then all backwards. They are two
/// runs one after the other, so that no backward starts before the last forward of the plan has ended.
[[nodiscard]] Schedule order_by_phases(const KeptPlan& kept, const PipelineWork& work);

}  // namespace stagecraft
