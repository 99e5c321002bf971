#pragma once

#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace stagecraft {

struct Plan;

/// By stage, for each of its alternating replicas: the number of forwards that it runs before its first pair of forward
/// and backward in 1F1B. It is ⌊(ranks from this stage on - 1) / own⌋, as in PipeDream's runtime, where ranks and own
/// count alternating replicas; without replication that is p - 1 - i. With unequal shares it is, as there, what is on
/// later stages of the replica's microbatches while all devices are busy. Eager 1F1B runs `eagerness` times as many. A
/// cap (`Stage::in_flight`) lowers the number, on later stages too; a stage's cap is at most `most`.
/// **Cost** O(turns in a round) for each two stages of a pipeline.
[[nodiscard]] std::vector<std::vector<std::int64_t>> warmups(
    const Plan& plan, std::int64_t eagerness = 1, std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// By stage: the largest of its replicas.
[[nodiscard]] std::vector<std::int64_t> largest_warmups(const Plan& plan, std::int64_t eagerness = 1,
                                                        std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// The program of the families in which every replica runs its warm-up forwards, then forwards and backwards in turn,
/// then the remaining backwards. A replica has min(warm-up + 1, its microbatches) in flight and keeps one weight
/// version. Where stages share a device, the orders of a synchronous plan are the fastest ones from its times
/// (`fastest_list`), and those of an asynchronous one come from rounds. Otherwise the order of a plan with caps is the
/// fastest one within them (`choose_order`), since devices that run in turn would wait for each other. The families
/// differ in the warm-up and in whether an iteration ends with a flush.
[[nodiscard]] ScheduleProgram one_f_one_b_program(const PlanContext& context, bool synchronous, std::int64_t eagerness);

/// Why an asynchronous program cannot run all-reduces after each round. Stages that hold a layer in several pipelines
/// reduce its gradients together, and a round is complete only when every replica has run a microbatch in it. If some
/// replicas run fewer microbatches, the others wait for them forever.
[[nodiscard]] ScheduleRefusals round_refusals(const PlanContext& context, const std::string& schedule);

}  // namespace stagecraft
