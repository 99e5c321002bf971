#pragma once

#include "experiments/measured/kineto_layers.hpp"
#include "experiments/measured/kineto_transfers.hpp"
#include "experiments/view/description.hpp"

#include <vector>

namespace stagecraft {

/// The operations of all traces by their start: forwards and backwards of passes, and kernels of NCCL. The record has a
/// list `timeline` with the fields of a simulated operation (docs/reference/report.md). The stage is the position of
/// the trace, the microbatch the pass. Times count from the first of the operations.
[[nodiscard]] Description describe_timeline(const std::vector<KinetoProfile>& profiles,
                                            const std::vector<TransferKernel>& transfers);

}  // namespace stagecraft
