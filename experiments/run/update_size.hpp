#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>

namespace stagecraft {

/// The number of microbatches, of so many samples each, with that many samples.
/// **Throws** InputError if it is not a whole number, with the nearest numbers of samples that are possible.
[[nodiscard]] std::int64_t microbatches_of_update(std::int64_t samples, std::int64_t of_microbatch);

/// The program of the plan whose updates sum up the gradients of that many samples: with another number of microbatches
/// of an iteration, or of rounds after which an asynchronous plan updates, so that the stage with the most samples has
/// that many, and a length with which its period can be measured. A prediction that was made for another number is
/// dropped. **Throws** InputError for a number that the plan cannot have, with the nearest ones that it can.
[[nodiscard]] ScheduleProgram with_samples_per_update(const LayerGraph& graph, const Platform& platform,
                                                      ScheduleProgram program, std::int64_t samples);

}  // namespace stagecraft
