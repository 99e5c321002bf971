#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/training.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// The bytes of gradients that an all-reduce sums up for a byte of weights: 1, or what the recipe exchanges.
/// Megatron-LM with bf16 and BLOOM's optimizer exchange sums in 4 bytes for weights of 2.
[[nodiscard]] std::int64_t reduced_copies(const Training& training);
[[nodiscard]] Bytes reduced_gradients(const Training& training, Bytes parameters);
[[nodiscard]] std::vector<Bytes> reduced_gradients(const Training& training, std::vector<Bytes> parameters);

}  // namespace stagecraft
