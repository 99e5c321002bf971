// The trace of a run, read back and compared with the record that it was written from.
#include "experiments/view/chrome_trace.hpp"

#include "sim/schedule/schedule_family.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

/// Half of what dates are rounded to, in microseconds, and as much for the rounding of doubles.
constexpr double kReadTolerance = 1e-6;
/// Dates closer than this are those of one instant, in seconds.
constexpr double kReadInstant = 1e-9;

/// The run of a random plan, and its trace.
struct ReadBack {
  testing::RandomCase random;
  Simulation simulation;
  Json events;
  std::size_t longest_part = 0;

  ReadBack(std::uint32_t seed, EngineChoice engine) : random(testing::random_case(seed)) {
    SimulationChoices choices;
    choices.engine = engine;
    choices.recording = Recording{"--trace"};
    const ScheduleProgram program = require_schedule(random.graph, random.platform, random.plan);
    choices.iterations = program.synchronous ? 2 : 1;
    simulation = simulate_program(random.graph, random.platform, program, choices, Settings());
    std::string text;
    chrome_trace({simulation, random.platform}, {}, std::nullopt, [&](std::string_view part) {
      longest_part = std::max(longest_part, part.size());
      text += part;
    });
    events = Json::parse(text)["traceEvents"];
  }
  [[nodiscard]] const Timeline& timeline() const { return simulation.record.timeline; }
};

void check_read_slices(const ReadBack& traced) {
  const Tracks tracks = tracks_of(traced.timeline(), traced.random.platform);
  std::size_t at = 0;
  for (const Json& event : traced.events) {
    if (event["ph"] != "X") continue;
    while (at < traced.timeline().size() && tracks.of_entry[at] == Tracks::kNone) ++at;
    REQUIRE(at < traced.timeline().size());
    const TimelineEntry& entry = traced.timeline()[at];
    CHECK(event["tid"] == tracks.of_entry[at] + 1);
    CHECK(std::abs(event["ts"].get<double>() - entry.start.value() * 1e6) <= kReadTolerance);
    CHECK(std::abs(event["dur"].get<double>() - (entry.end - entry.start).value() * 1e6) <= kReadTolerance);
    CHECK(event["name"] == slice_name(entry));
    CHECK(event["args"]["microbatch"] == entry.microbatch);
    CHECK(event["args"].value("stage", Json()) == (entry.stage.is_none() ? Json() : Json(entry.stage.value())));
    if (is_transfer(entry.kind)) CHECK(event["args"]["bytes"] == entry.bytes.value());
    ++at;
  }
  CHECK(std::all_of(tracks.of_entry.begin() + static_cast<std::ptrdiff_t>(at), tracks.of_entry.end(),
                    [](std::uint32_t track) { return track == Tracks::kNone; }));
}

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
  const auto same = [](const auto& a, const auto& b) { return a.second == b.second; };
  CHECK(std::ranges::adjacent_find(counted.levels, same) == counted.levels.end());
}

void check_read_memory(const ReadBack& traced) {
  std::map<std::uint32_t, ReadCounter> places;
  for (const MemoryChange& change : traced.simulation.record.memory) {
    // The weights tell apart what is held for which purpose.
    const std::int64_t weight = static_cast<std::int64_t>(change.category) * 1'000 + 1;
    places[change.place.value()].changes.emplace_back(change.at.value(), change.bytes.value() * weight);
  }
  for (const Json& event : traced.events) {
    if (event["ph"] != "C" || event["name"] != "memory") continue;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < kMemoryCategories; ++i) {
      const std::int64_t held = event["args"].value(to_string(static_cast<MemoryCategory>(i)), std::int64_t{0});
      sum += held * (static_cast<std::int64_t>(i) * 1'000 + 1);
    }
    places[event["pid"].get<std::uint32_t>() - 1].levels.emplace_back(event["ts"].get<double>() / 1e6, sum);
  }
  CHECK(!places.empty());
  for (auto& [place, counted] : places) check_read_counter(counted);
}

void check_read_links(const ReadBack& traced) {
  std::map<std::string, ReadCounter> links;
  Route route;
  for (const TimelineEntry& entry : traced.timeline()) {
    if (!is_transfer(entry.kind) || entry.bytes == Bytes(0)) continue;
    if (!find_route(traced.random.platform, entry.from, entry.to, entry.leg, route)) continue;
    for (const LinkId link : route.links) {
      ReadCounter& counted = links[traced.random.platform.links[link].name];
      counted.changes.emplace_back(entry.start.value(), 1);
      counted.changes.emplace_back(entry.end.value(), -1);
    }
  }
  for (const Json& event : traced.events) {
    if (event["ph"] != "C" || event["name"] == "memory") continue;
    links[event["name"]].levels.emplace_back(event["ts"].get<double>() / 1e6,
                                             event["args"]["count"].get<std::int64_t>());
  }
  for (auto& [link, counted] : links) check_read_counter(counted);
}

}  // namespace

TEST_CASE("trace: what is read back is the record, on either engine") {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    for (const EngineChoice engine : {EngineChoice::Evaluate, EngineChoice::Replay}) {
      CAPTURE(seed);
      CAPTURE(to_string(engine));
      const ReadBack traced(seed, engine);
      check_read_slices(traced);
      check_read_memory(traced);
      check_read_links(traced);
      CHECK(traced.longest_part < 70'000);
    }
  }
}

}  // namespace stagecraft
