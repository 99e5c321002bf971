#include "planners/dapple/latency.hpp"

#include <algorithm>

namespace stagecraft::dapple {
namespace {

/// The pivot, by the rule in latency.hpp: from the last block to the front, `between` is the sum of F + B of the blocks
/// between s and the pivot so far.
std::size_t pivot_of(std::span<const Block> blocks, double rounds) {
  std::size_t pivot = blocks.size() - 1;
  double between = 0.0;
  for (std::size_t s = pivot; s-- > 0;) {
    if (rounds * blocks[s].both() > rounds * blocks[pivot].both() + between) {
      pivot = s;
      between = 0.0;
    } else {
      between += blocks[s].both();
    }
  }
  return pivot;
}

}  // namespace

Latency pipeline_latency(std::span<const Block> blocks, std::int64_t microbatches) {
  const auto rounds = static_cast<double>(microbatches - 1);
  Latency latency;
  latency.pivot = pivot_of(blocks, rounds);
  latency.steady = rounds * blocks[latency.pivot].both();
  double back = 0.0;  // time from the start of the pivot's last backward to the end of the last backward of block s
  for (std::size_t s = latency.pivot + 1; s-- > 0;) {
    latency.warmup += blocks[s].forward;
    back += blocks[s].backward;
    latency.ending = std::max(latency.ending, back + blocks[s].synchronise);
  }
  double before = 0.0;
  for (std::size_t s = latency.pivot + 1; s < blocks.size(); ++s) {
    latency.ending = std::max(latency.ending, blocks[s].synchronise - before);
    before += blocks[s].backward;
  }
  return latency;
}

}  // namespace stagecraft::dapple
