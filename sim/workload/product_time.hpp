#pragma once

#include "sim/base/quantity.hpp"
#include "sim/workload/device.hpp"

namespace stagecraft {

/// `count` products of a matrix of `rows` x `inner` and one of `inner` x `columns`.
struct ProductShape {
  double rows = 0;
  double columns = 0;
  double inner = 0;
  double count = 1;
};

/// The product of the output's gradient and the transposed weights.
[[nodiscard]] ProductShape input_gradient(const ProductShape& forward);
/// The product of the transposed input and the output's gradient.
[[nodiscard]] ProductShape weight_gradient(const ProductShape& forward);

/// Whether rows of the input, of the weights or of the output are no multiple of 16 bytes, where a value has
/// `value_bytes`. The matrices of both gradients have the same rows.
[[nodiscard]] bool has_odd_rows(const ProductShape& forward, double value_bytes);

/// What a product does and moves, and how fast the device does it: `rate` is the peak times the share of it that is
/// reached.
struct ProductWork {
  Flops flops;
  FlopsPerSecond rate;
  double traffic_bytes = 0;
  bool odd_rows = false;
};

/// The time of one kernel: the longer of arithmetic and memory traffic, plus the launch. The arithmetic is that of the
/// best of six sizes of tiles, from 256 x 128 to 64 x 64, smaller ones of a lower rate; tiles are computed in waves of
/// one for each processor, of which the last counts in part as whole (`Tiling`). A device without `processors` takes
/// operations / rate, whatever the shape.
/// **Source** NVIDIA, "Matrix Multiplication Background User's Guide", 2023 (tiles, wave quantization, alignment); the
/// form with a share of whole waves and a fixed cost of a tile is ours.
[[nodiscard]] Seconds product_time(const DeviceDescription& device, const ProductShape& shape, const ProductWork& work);

}  // namespace stagecraft
