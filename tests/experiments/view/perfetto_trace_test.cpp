// The trace of a run, read back and compared with the record that it was written from.
#include "experiments/view/perfetto_trace.hpp"

#include "sim/schedule/schedule_family.hpp"
#include "tests/experiments/perfetto_reader.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using test::PerfettoEvent;
using test::PerfettoReader;

/// Dates closer than this, in seconds, are those of one instant.
constexpr double kReadInstant = 2e-9;

/// The run of a random plan, and its trace.
struct ReadBack {
  testing::RandomCase random;
  Simulation simulation;
  std::string bytes;
  std::size_t longest_part = 0;

  ReadBack(std::uint32_t seed, EngineChoice engine) : random(testing::random_case(seed)) {
    SimulationChoices choices;
    choices.engine = engine;
    choices.recording = Recording{"--trace"};
    const ScheduleProgram program = require_schedule(random.graph, random.platform, random.plan);
    choices.iterations = program.synchronous ? 2 : 1;
    simulation = simulate_program(random.graph, random.platform, program, choices, Settings());
    perfetto_trace(run(), {}, std::nullopt, [&](std::string_view part) {
      longest_part = std::max(longest_part, part.size());
      bytes += part;
    });
  }
  [[nodiscard]] TracedRun run() const { return {simulation, random.platform}; }
  [[nodiscard]] const Timeline& timeline() const { return simulation.record.timeline; }
};

/// A sum over time: its changes by date, and what a counter says of it.
struct ReadCounter {
  std::vector<std::pair<double, std::int64_t>> changes;
  std::vector<std::pair<double, std::int64_t>> levels;
};

/// The counter says between all instants what the changes add up to, and nothing twice.
void check_read_counter(ReadCounter& counted) {
  std::ranges::sort(counted.changes);
  std::int64_t sum = 0;
  std::size_t next = 0;
  std::int64_t said = 0;
  for (std::size_t i = 0; i < counted.changes.size(); ++i) {
    sum += counted.changes[i].second;
    const double at = counted.changes[i].first;
    const bool is_last = i + 1 == counted.changes.size();
    if (!is_last && counted.changes[i + 1].first < at + kReadInstant) continue;
    for (; next < counted.levels.size() && counted.levels[next].first < at + kReadInstant / 2; ++next) {
      said = counted.levels[next].second;
    }
    CHECK(said == sum);
  }
  CHECK(next == counted.levels.size());
}

/// The counters of a place by category, or those of links, by the name of the process and of the counter.
using ReadCounters = std::map<std::pair<std::string, std::string>, ReadCounter>;

void check_read_counters(const ReadBack& traced, const PerfettoReader& reader) {
  ReadCounters counters;
  for (const MemoryChange& change : traced.simulation.record.memory) {
    const std::string place = traced.random.platform.place_name(change.place);
    const std::pair<double, std::int64_t> entry{change.at.value(), change.bytes.value()};
    counters[{place, "memory"}].changes.push_back(entry);
    counters[{place, std::string("memory: ") + to_string(change.category)}].changes.push_back(entry);
  }
  Route route;
  for (const TimelineEntry& entry : traced.timeline()) {
    if (!is_transfer(entry.kind) || entry.bytes == Bytes(0)) continue;
    if (!find_route(traced.random.platform, entry.from, entry.to, entry.leg, route)) continue;
    for (const LinkId link : route.links) {
      ReadCounter& counted = counters[{"transfers on links", traced.random.platform.links[link].name}];
      counted.changes.emplace_back(entry.start.value(), 1);
      counted.changes.emplace_back(entry.end.value(), -1);
    }
  }
  for (const PerfettoEvent& event : reader.events) {
    if (event.type != test::kCounterValue) continue;
    const test::PerfettoTrack& track = reader.tracks.at(event.track);
    counters[{reader.tracks.at(track.parent).name, track.name}].levels.emplace_back(event.seconds(), event.value);
  }
  CHECK(!counters.empty());
  for (auto& [name, counted] : counters) {
    CAPTURE(name.first);
    CAPTURE(name.second);
    check_read_counter(counted);
  }
}

/// As many slices as operations that are drawn, and a flow for each arrow.
void check_read_slices(const ReadBack& traced, const PerfettoReader& reader) {
  const TraceContent content = trace_content(traced.run(), std::nullopt);
  std::multiset<std::pair<std::string, double>> read, written;
  for (const test::PerfettoSlice& slice : slices_of(reader)) {
    const double length = slice.end.seconds() - slice.begin.seconds();
    read.emplace(slice.begin.name + reader.tracks.at(slice.begin.track).name, slice.begin.seconds());
    CHECK(length >= 0.0);
  }
  for (const TraceSlice& slice : content.slices) {
    const TimelineEntry& entry = traced.timeline()[slice.entry];
    written.emplace(slice_name(entry) + name_of(content.tracks[slice.track]), entry.start.value());
  }
  REQUIRE(read.size() == written.size());
  CHECK(std::ranges::equal(read, written, [](const auto& a, const auto& b) {
    return a.first == b.first && std::abs(a.second - b.second) < kReadInstant;
  }));
  CHECK(check_flows(reader) == content.arrows.size());
}

}  // namespace

TEST_CASE("trace: what is read back is the record, on either engine") {
  for (std::uint32_t seed = 1; seed <= testing::random_cases(30U); ++seed) {
    for (const EngineChoice engine : {EngineChoice::Evaluate, EngineChoice::Replay}) {
      CAPTURE(seed);
      CAPTURE(to_string(engine));
      const ReadBack traced(seed, engine);
      const PerfettoReader reader(traced.bytes);
      check_read_slices(traced, reader);
      check_read_counters(traced, reader);
      CHECK(traced.longest_part < 70'000);
    }
  }
}

}  // namespace stagecraft
