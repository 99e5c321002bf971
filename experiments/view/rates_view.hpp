#pragma once

#include "experiments/run/work_rates.hpp"
#include "sim/model/detail.hpp"

#include <string>

namespace stagecraft {

/// `25190 tokens/s, 412 TFLOP/s per device, MFU 41.7 %`: what is known; empty if nothing is.
/// `412 TFLOP/s per device (8 of 16 devices)` where some devices of the platform are not counted.
[[nodiscard]] std::string rates_text(const WorkRates& rates);

/// The same for JSON: `tokens_per_second`, `tflops_per_device` and `mfu`, those that are known.
[[nodiscard]] Detail::Record rates_record(const WorkRates& rates);

}  // namespace stagecraft
