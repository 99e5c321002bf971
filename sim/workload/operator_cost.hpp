#pragma once

#include "sim/base/quantity.hpp"
#include "sim/workload/architecture.hpp"
#include "sim/workload/device.hpp"

#include <cstdint>

namespace stagecraft {

/// The cost of one operator for one microbatch.
struct OperatorCost {
  Seconds forward;
  Seconds backward_input;   ///< gradient of its inputs
  Seconds backward_weight;  ///< gradient of its parameters
  Bytes scratch;            ///< held by the algorithm while it runs, in either direction
  double forward_kernels = 1;
  double backward_kernels = 1;
  Seconds recomputed = {};  ///< the forward once more before the backward, of operators that are recomputed
  friend bool operator==(const OperatorCost&, const OperatorCost&) = default;
};

/// Times of the device alone, by the roofline and, of products with weights, by their shape (`product_time`). A
/// weighted operator's backward is two kernels, one for each gradient, each with as many operations as the forward; an
/// operator that reads the network's input only has no input gradient. In 8 bit a product's operands are converted
/// first. A loss moves what the device's description says, in the backward half of it. A 3x3 stride-1
/// convolution in fp32 takes the faster of a direct convolution and Winograd's F(4x4, 3x3) in three kernels (transform
/// the input, multiply, transform the output); Winograd only while its transformed tensors take at most 4 GiB.
/// A recurrent operator is one kernel over the inputs of all steps and one kernel for each step, which reads the
/// recurrent weights anew; its weight gradients are two kernels over all steps.
/// The products of attention take longer, as those with weights do, where the matrices of a head have odd rows.
/// Fused attention leaves out the products that the causal mask hides; its backward, which computes the scores again,
/// has 2.5 times the operations of the forward.
/// **Requires** microbatch_size > 0.
/// **Source** A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, arXiv:1509.09308;
/// T. Dao et al., "FlashAttention", NeurIPS 2022, arXiv:2205.14135.
[[nodiscard]] OperatorCost operator_cost(const Operator& op, const DeviceDescription& device, Precision precision,
                                         std::int64_t microbatch_size);

}  // namespace stagecraft
