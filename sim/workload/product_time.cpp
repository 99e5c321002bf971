#include "sim/workload/product_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace stagecraft {
namespace {

struct Tile {
  double rows;
  double columns;
  double rate;  ///< of the largest tile's
};

constexpr std::array kTiles{Tile{256, 128, 1.0}, Tile{128, 256, 1.0}, Tile{128, 128, 0.93},
                            Tile{128, 64, 0.8},  Tile{64, 128, 0.8},  Tile{64, 64, 0.62}};

constexpr double kAlignedBytes = 16;  ///< of a row, which tensor cores read at full rate

Seconds tiled_time(const Tiling& tiling, const ProductShape& shape, FlopsPerSecond rate) {
  const auto processors = static_cast<double>(tiling.processors);
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    const double tiles = std::ceil(shape.rows / tile.rows) * std::ceil(shape.columns / tile.columns) * shape.count;
    const double whole = std::ceil(tiles / processors);
    const double part = std::max(1.0, tiles / processors);
    const double waves = tiling.whole_waves * whole + (1.0 - tiling.whole_waves) * part;
    const double tile_flops = 2.0 * tile.rows * tile.columns * (shape.inner + tiling.fill);
    best = std::min(best, waves * processors * tile_flops / (rate.value() * tile.rate));
  }
  return Seconds(best);
}

}  // namespace

ProductShape input_gradient(const ProductShape& forward) {
  return {forward.rows, forward.inner, forward.columns, forward.count};
}

ProductShape weight_gradient(const ProductShape& forward) {
  return {forward.inner, forward.columns, forward.rows, forward.count};
}

bool has_odd_rows(const ProductShape& forward, double value_bytes) {
  const auto is_odd = [&](double values) { return std::fmod(values * value_bytes, kAlignedBytes) != 0; };
  return is_odd(forward.columns) || is_odd(forward.inner);
}

Seconds product_time(const DeviceDescription& device, const ProductShape& shape, const ProductWork& work) {
  if (device.tiling.processors == 0) return kernel_time(device, work.flops, work.rate, work.traffic_bytes);
  const Seconds traffic(work.traffic_bytes / (device.memory_bandwidth.value() * device.efficiency.memory));
  const Seconds longer = std::max(tiled_time(device.tiling, shape, work.rate), traffic);
  const double odd = work.odd_rows ? device.tiling.odd_rows : 0.0;
  return longer * (1.0 + odd) + device.launch_overhead;
}

}  // namespace stagecraft
