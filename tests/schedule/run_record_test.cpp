// What traces and pictures are made of.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/engine/run_recorder.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

namespace stagecraft {
namespace {

struct Recorded {
  RunRecord record;
  Report report;

  Recorded(const testing::RandomCase& random, std::size_t window_operations) {
    LowerOptions options;
    options.iterations = 2;
    options.window_operations = window_operations;
    RunRecorder recorder(random.platform, record);
    const RunWatch watch(
        [&](const Span& span, const Op& op, std::span<const MemoryDelta> deltas) { recorder.add(span, op, deltas); },
        [&](const OpGraph& window) { recorder.add(window); });
    report = evaluate_plan(random.graph, random.platform, random.plan, options, {}, watch);
    recorder.finish();
    std::ranges::stable_sort(record.memory, {}, &MemoryChange::place);
    const auto order = [](const Dependency& each) { return std::pair(each.op, each.on); };
    std::ranges::sort(record.turns, {}, order);
  }
};

}  // namespace

TEST_CASE("run record: windows of any size give the same record, with the peaks of the report") {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    const testing::RandomCase random = testing::random_case(seed);
    const Recorded whole(random, 1'000'000);
    for (const std::size_t size : {1U, 7U}) {
      const Recorded parts(random, size);
      CHECK(parts.record.timeline == whole.record.timeline);
      CHECK(parts.record.memory == whole.record.memory);
      CHECK(parts.record.dependencies == whole.record.dependencies);
      CHECK(parts.record.turns == whole.record.turns);
    }
    std::map<PlaceId, std::pair<Bytes, Bytes>> held;  // now and at most
    for (const MemoryChange& change : whole.record.memory) {
      auto& [now, most] = held[change.place];
      now += change.bytes;
      most = std::max(most, now);
    }
    for (const DeviceReport& device : whole.report.devices) {
      CHECK(held[random.platform.place(device.device)].second == device.memory.peak);
    }
  }
}

// What an operation depends on has ended before it starts.
TEST_CASE("run record: dependencies end before what waits for them starts") {
  const Recorded run(testing::random_case(7), 64);
  std::map<OpId, const TimelineEntry*> entries;
  for (const TimelineEntry& entry : run.record.timeline) entries[entry.id] = &entry;
  CHECK(!run.record.dependencies.empty());
  for (const Dependency& each : run.record.dependencies) {
    REQUIRE(entries.contains(each.op));
    REQUIRE(entries.contains(each.on));
    CHECK(entries[each.on]->end <= entries[each.op]->start);
  }
}

TEST_CASE("run record: each computation takes its turn after the one before it on its device") {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    const Recorded recorded(testing::random_case(seed), 1'000'000);
    std::map<OpId, OpId> before;
    for (const Dependency& turn : recorded.record.turns) before[turn.op] = turn.on;
    std::map<PlaceId, OpId> last;
    for (const TimelineEntry& entry : recorded.record.timeline) {
      if (!is_compute(entry.kind)) continue;
      const auto known = last.find(entry.from);
      CHECK(before.contains(entry.id) == (known != last.end()));
      if (known != last.end()) CHECK(before[entry.id] == known->second);
      last[entry.from] = entry.id;
    }
  }
}

}  // namespace stagecraft
