#include "sim/workload/product_time.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace stagecraft::product_time_test {

namespace {

/// Ten multiprocessors, 1 TB/s, launches of 1 us; tiles have a fixed cost of 100 inner values.
DeviceDescription tiled_device(double whole_waves) {
  DeviceDescription device;
  device.memory_bandwidth = BytesPerSecond(1e12);
  device.efficiency.memory = 1.0;
  device.launch_overhead = Seconds(1e-6);
  device.tiling = {.processors = 10, .fill = 100, .whole_waves = whole_waves, .odd_rows = 0.5};
  return device;
}

double seconds(const DeviceDescription& device, const ProductShape& shape, double traffic = 0) {
  const Flops flops(2.0 * shape.rows * shape.columns * shape.inner * shape.count);
  return product_time(device, shape, {flops, FlopsPerSecond(1e12), traffic, has_odd_rows(shape, 2.0)}).value();
}

/// The time of one wave of the largest tiles.
double wave(double inner) { return 10 * 2.0 * 256 * 128 * (inner + 100) / 1e12; }

constexpr double kLaunch = 1e-6;

}  // namespace

TEST_CASE("product_time: a device without multiprocessors takes what the operations take") {
  DeviceDescription device = tiled_device(1.0);
  device.tiling = {};
  CHECK(seconds(device, {1000, 1000, 1000}) == doctest::Approx(2e-3 + kLaunch).epsilon(1e-12));
  CHECK(seconds(device, {1000, 1000, 1000}, 5e9) == doctest::Approx(5e-3 + kLaunch).epsilon(1e-12));
}

// 2560 x 128: ten tiles of 256 x 128, one for each processor. One row more makes an eleventh, and a second wave.
TEST_CASE("product_time: a last wave counts as whole, in part or in proportion") {
  const ProductShape full{2560, 128, 1024};
  const ProductShape more{2816, 128, 1024};
  CHECK(seconds(tiled_device(1.0), full) == doctest::Approx(wave(1024) + kLaunch).epsilon(1e-12));
  CHECK(seconds(tiled_device(1.0), more) <= 2 * wave(1024) + kLaunch);
  CHECK(seconds(tiled_device(0.0), more) == doctest::Approx(1.1 * wave(1024) + kLaunch).epsilon(1e-12));
  const double half = seconds(tiled_device(0.5), more);
  CHECK(half > seconds(tiled_device(0.0), more));
  CHECK(half <= seconds(tiled_device(1.0), more));
}

// One tile of the smallest size keeps one processor busy and takes a whole wave of its kind.
TEST_CASE("product_time: a product smaller than a wave takes a wave of the tiles that suit it best") {
  const double smallest = 10 * 2.0 * 64 * 64 * (1024 + 100) / (0.62 * 1e12);
  CHECK(seconds(tiled_device(0.0), {64, 64, 1024}) == doctest::Approx(smallest + kLaunch).epsilon(1e-12));
  CHECK(seconds(tiled_device(0.0), {1, 1, 1024}) ==
        seconds(tiled_device(0.0), {64, 64, 1024}) * (1.0 + 0.5) - kLaunch * 0.5);
}

TEST_CASE("product_time: several products of one kernel share its waves") {
  const DeviceDescription device = tiled_device(1.0);
  CHECK(seconds(device, {256, 128, 1024, 10}) == seconds(device, {2560, 128, 1024}));
}

TEST_CASE("product_time: rows that are no multiple of 16 bytes take longer, those of the left operand's columns too") {
  const DeviceDescription device = tiled_device(1.0);
  const double even = seconds(device, {2560, 128, 1024}) - kLaunch;
  CHECK(seconds(device, {2560, 121, 1024}) == doctest::Approx(1.5 * even + kLaunch).epsilon(1e-12));
  CHECK(seconds(device, {2559, 128, 1024}) == doctest::Approx(even + kLaunch).epsilon(1e-12));
  CHECK(seconds(device, {2560, 128, 1023}) > even * 1.49);
}

// An independent formula over all sizes of tiles, for shapes at random places.
TEST_CASE("product_time: no size of tiles does better than the one that is taken") {
  const DeviceDescription device = tiled_device(0.7);
  const std::vector<std::vector<double>> tiles = {{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.93},
                                                  {128, 64, 0.8},  {64, 128, 0.8},  {64, 64, 0.62}};
  for (int i = 1; i < 200; ++i) {
    const ProductShape shape{37.0 * i, 8.0 * (i * i % 311 + 1), 8.0 * (i * 7 % 97 + 1), 1.0 + i % 3};
    double best = 1e300;
    for (const auto& tile : tiles) {
      const double count = std::ceil(shape.rows / tile[0]) * std::ceil(shape.columns / tile[1]) * shape.count;
      const double waves = 0.7 * std::ceil(count / 10) + 0.3 * std::max(1.0, count / 10);
      best = std::min(best, waves * 10 * 2 * tile[0] * tile[1] * (shape.inner + 100) / (1e12 * tile[2]));
    }
    CHECK(seconds(device, shape) == doctest::Approx(best + kLaunch).epsilon(1e-12));
  }
}

TEST_CASE("product_time: rows are those of input, weights and output, and not their number") {
  CHECK_FALSE(has_odd_rows({4095, 256, 1024}, 2.0));
  CHECK(has_odd_rows({4096, 255, 1024}, 2.0));
  CHECK(has_odd_rows({4096, 256, 1023}, 2.0));
  CHECK(has_odd_rows({4096, 256, 1032}, 1.0));
  CHECK_FALSE(has_odd_rows({4096, 256, 1032}, 2.0));
}

TEST_CASE("product_time: the gradients of a product have its operations") {
  const ProductShape forward{100, 200, 300, 4};
  const auto macs = [](const ProductShape& shape) { return shape.rows * shape.columns * shape.inner * shape.count; };
  CHECK(macs(input_gradient(forward)) == macs(forward));
  CHECK(macs(weight_gradient(forward)) == macs(forward));
  CHECK(input_gradient(forward).rows == 100);
  CHECK(weight_gradient(forward).inner == 100);
}

}  // namespace stagecraft::product_time_test
