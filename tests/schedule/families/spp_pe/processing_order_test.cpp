#include "sim/schedule/families/spp_pe/processing_order.hpp"

#include "sim/schedule/families/spp_pe/processing_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// S stages without replicas, f and b by hop; nothing is synchronised.
PipelineTimes chain_of(const std::vector<double>& forward, const std::vector<double>& backward) {
  PipelineTimes times;
  for (std::size_t i = 0; i < forward.size(); ++i) {
    times.resources.push_back({Seconds(forward[i]), Seconds(backward[i])});
  }
  times.alternating.assign((forward.size() + 1) / 2, 1);
  times.pace.resize(times.alternating.size());
  times.synchronise.resize(times.alternating.size());
  return times;
}

ProcessingOrder order_of(std::size_t stages, std::int64_t microbatches, const ProcessingSettings& settings = {}) {
  return order_blocks(processing_chain(std::vector<std::int64_t>(stages, 1), settings), microbatches);
}

/// `F1 F2 B1`, as the specification writes it.
std::string text(const std::vector<ProcessingBlock>& list) {
  std::string text;
  for (const ProcessingBlock& block : list) {
    text += (text.empty() ? "" : " ") + std::string(block.backward ? "B" : "F") + std::to_string(block.microbatch + 1);
  }
  return text;
}

TEST_CASE("spp-pe: the lists of the specification") {
  const ProcessingOrder four = order_of(2, 4);
  CHECK(four.rounds == 12);
  CHECK(text(four.lists[0]) == "F1 F2 F3 F4 B1 B2 B3 B4");
  CHECK(text(four.lists[1]) == "F1 F2 F3 B1 F4 B2 B3 B4");
  CHECK(text(four.lists[2]) == "F1 B1 F2 B2 F3 B3 F4 B4");
  const ProcessingOrder seven = order_of(2, 7);
  CHECK(seven.rounds == 18);
  CHECK(text(seven.lists[0]) == "F1 F2 F3 F4 F5 B1 F6 B2 F7 B3 B4 B5 B6 B7");
  CHECK(text(seven.lists[1]) == "F1 F2 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7");
  CHECK(text(seven.lists[2]) == "F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7");
  const ProcessingOrder three = order_of(3, 3);
  CHECK(three.rounds == 14);
  for (std::size_t x = 0; x < 4; ++x) CHECK(text(three.lists[x]) == "F1 F2 F3 B1 B2 B3");
  CHECK(text(three.lists[4]) == "F1 B1 F2 B2 F3 B3");
}

TEST_CASE("spp-pe: rounds, peaks and lists in closed form") {
  for (std::int64_t stages = 1; stages <= 9; ++stages) {
    for (std::int64_t microbatches = 1; microbatches <= 45; ++microbatches) {
      CAPTURE(stages);
      CAPTURE(microbatches);
      const ProcessingOrder order = order_of(static_cast<std::size_t>(stages), microbatches);
      CHECK(order.rounds == 2 * microbatches + 4 * stages - 4);
      const ProcessingOrder full =
          order_of(static_cast<std::size_t>(stages), microbatches, {InFlightCap::None, true, true});
      CHECK(full.rounds == order.rounds);
      CHECK(full.peaks == order.peaks);
      for (std::int64_t s = 0; s < stages; ++s) {
        CHECK(order.peaks[static_cast<std::size_t>(s)] == std::min(microbatches, 4 * (stages - 1 - s) + 1));
      }
      for (std::size_t x = 0; x < order.lists.size(); ++x) {
        const std::int64_t from_end = 2 * stages - 2 - static_cast<std::int64_t>(x);
        const std::int64_t warm = std::min(microbatches, 2 * from_end + 1);
        std::string expected;
        for (std::int64_t m = 1; m <= warm; ++m) expected += "F" + std::to_string(m) + " ";
        for (std::int64_t m = 1; m <= microbatches; ++m) {
          expected += "B" + std::to_string(m) + " ";
          if (m + warm <= microbatches) expected += "F" + std::to_string(m + warm) + " ";
        }
        expected.pop_back();
        CHECK(text(order.lists[x]) == expected);
      }
    }
  }
}

TEST_CASE("spp-pe: caps keep their promise, and no block is lost") {
  for (const InFlightCap cap : {InFlightCap::OneForwardOneBackward, InFlightCap::Double}) {
    for (std::int64_t stages = 1; stages <= 7; ++stages) {
      for (const std::int64_t microbatches : {1, 2, 3, 5, 8, 13, 40}) {
        const ProcessingOrder order = order_of(static_cast<std::size_t>(stages), microbatches, {cap, true, false});
        for (std::int64_t s = 0; s < stages; ++s) {
          const std::int64_t most = (cap == InFlightCap::Double ? 2 : 1) * (stages - 1 - s) + 1;
          CHECK(order.peaks[static_cast<std::size_t>(s)] <= std::min(microbatches, most));
        }
        CHECK(order.peaks[0] == std::min(microbatches, (cap == InFlightCap::Double ? 2 : 1) * (stages - 1) + 1));
        for (const auto& list : order.lists) CHECK(list.size() == static_cast<std::size_t>(2 * microbatches));
      }
    }
  }
}

TEST_CASE("spp-pe: executions of the specification") {
  const auto time = [](const std::vector<double>& forward, const std::vector<double>& backward, std::int64_t count) {
    return run_blocks(chain_of(forward, backward), count, {}).time.value();
  };
  CHECK(time({2, 1, 2}, {4, 1, 4}, 4) == 32);
  CHECK(time({3, 2, 1}, {6, 2, 2}, 4) == 37);
  CHECK(time({2, 1, 3, 1, 2}, {4, 1, 6, 1, 4}, 3) == 37);
  CHECK(time({2, 1, 3, 1, 2}, {4, 1, 6, 1, 4}, 2) == 31);
  CHECK(time({1, 1, 1}, {1, 1, 1}, 24) == 52);
}

TEST_CASE("spp-pe: when each block of the first execution runs") {
  std::vector<ProcessedBlock> blocks;
  const ProcessingFigures figures = run_blocks(chain_of({2, 1, 2}, {4, 1, 4}), 4, {}, {}, &blocks);
  CHECK(figures.time == Seconds(32));
  CHECK(figures.rounds == 12);
  CHECK(figures.peaks == std::vector<std::int64_t>{4, 1});
  using Intervals = std::vector<std::pair<double, double>>;
  const auto intervals = [&](std::uint32_t hop, bool backward) {
    Intervals found;
    for (const ProcessedBlock& ran : blocks) {
      if (ran.block.hop != hop || ran.block.backward != backward) continue;
      CHECK(ran.block.microbatch == found.size());
      found.emplace_back(ran.start.value(), ran.end.value());
    }
    return found;
  };
  CHECK(intervals(0, false) == Intervals{{0, 2}, {2, 4}, {4, 6}, {6, 8}});
  CHECK(intervals(0, true) == Intervals{{10, 14}, {16, 20}, {22, 26}, {28, 32}});
  CHECK(intervals(1, false) == Intervals{{2, 3}, {4, 5}, {6, 7}, {10, 11}});
  CHECK(intervals(1, true) == Intervals{{9, 10}, {15, 16}, {21, 22}, {27, 28}});
  CHECK(intervals(2, false) == Intervals{{3, 5}, {9, 11}, {15, 17}, {21, 23}});
  CHECK(intervals(2, true) == Intervals{{5, 9}, {11, 15}, {17, 21}, {23, 27}});
}

}  // namespace
}  // namespace stagecraft
