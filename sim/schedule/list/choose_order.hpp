#pragma once

#include "sim/schedule/list/list_run.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace stagecraft {

/// The caps by stage, on each replica, when no stage may have more than a number of microbatches in flight on one.
/// **Requires** that they grow with the number.
using CapsUpTo = std::function<std::vector<std::int64_t>(std::int64_t most)>;

/// The rule whose order is fastest of those of all turns under `caps_up_to(k)`, for k = `most` and every smaller k of a
/// list: all numbers up to 32, and larger ones that grow by an eighth. So a plan whose caps are all limited to a number
/// of the list is never faster than with any larger number. An order for less is not tried if Little's law shows that
/// it is slower: a replica with c in flight ends at most c microbatches in the time that one takes from its forward
/// there to its backward. In a tie the strict turn and the largest caps win.
///
/// A long synchronous run is judged by its first microbatches: by their time, and by the time of each one in their
/// middle. An asynchronous plan is judged by the time of a microbatch in a run whose length does not depend on the
/// plan's: with which it repeats itself (`repeated_period`), or in its middle.
/// **Cost** of a run of at most 512 microbatches (up to 4096 where turns repeat late), for a few orders.
[[nodiscard]] ListRule choose_order(const std::shared_ptr<const KeptPlan>& kept,
                                    const std::shared_ptr<const PipelineWork>& work, bool synchronous,
                                    std::int64_t most, const CapsUpTo& caps_up_to);

}  // namespace stagecraft
