#include "sim/schedule/one_f_one_b.hpp"
#include "sim/schedule/ranks.hpp"
#include "sim/schedule/schedule_info.hpp"

#include <map>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

/// A backward uses the weights of its forward: one copy for each microbatch in flight, the newest included.
std::int64_t stashed_versions(const Plan& plan, StageId stage) { return one_f_one_b_in_flight(plan, stage); }

/// Stages of the same layers have their rounds together: the k-th is complete only if every replica has a k-th
/// microbatch, so replicas that run fewer hold up the others for good.
std::optional<std::string> round_problem(const Plan& plan) {
  std::map<std::vector<LayerId>, std::size_t> first_of;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::size_t first = first_of.try_emplace(plan.stages[s].layers, s).first->second;
    const std::int64_t expected = alternating_replicas(plan.stages[first]);
    const std::int64_t found = alternating_replicas(plan.stages[s]);
    if (found == expected) continue;
    return "pipedream all-reduces after each round of one microbatch on every replica; stages " +
           std::to_string(first) + " and " + std::to_string(s) + " hold the same layers, but " +
           std::to_string(expected) + " and " + std::to_string(found) +
           " of their replicas take microbatches in turn: make that the same number, or divide microbatches on both " +
           "(replication: split)";
  }
  return std::nullopt;
}

}  // namespace

const ScheduleInfo pipedream_schedule = {
    "pipedream",
    "asynchronous 1F1B with weight stashing: never flushed, an update after every backward (or round of replicas)",
    "PipeDream (Narayanan et al., SOSP 2019)",
    false,
    {},
    &round_problem,
    &stashed_versions,
    &one_f_one_b_in_flight,
    &build_one_f_one_b,
    &shares_devices};

}  // namespace stagecraft
