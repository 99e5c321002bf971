#pragma once

#include "experiments/measured/kineto_layers.hpp"
#include "experiments/measured/kineto_transfers.hpp"
#include "experiments/view/description.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

/// Tables of the layers, of one pass each, and of where the time of the kernels goes; and a record of both.
[[nodiscard]] Description describe_kineto(const KinetoProfile& profile);

/// A table of the transfers among ranks, in a list `transfers` of the record. `ranks` is the number of traces.
[[nodiscard]] Description describe_transfers(const std::vector<TransferKind>& kinds, std::size_t ranks);

/// What makes the times of transfers among several ranks uncertain.
[[nodiscard]] std::vector<std::string> transfer_warnings(const std::vector<TransferKind>& kinds, std::size_t ranks);

}  // namespace stagecraft
