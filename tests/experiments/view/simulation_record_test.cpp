#include "experiments/view/simulation_record.hpp"

#include "sim/model/plan.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

const Detail* find(const Detail::Record& record, const std::string& key) {
  const auto found = std::ranges::find(record, key, &Detail::Record::value_type::first);
  return found == record.end() ? nullptr : &found->second;
}

// Layers 0 and 1 are on gpu0 and layer 2 is on gpu1; then layer 1 moves to gpu1. The first microbatch under the new
// plan ends 5 s after the ones before, and the new plan would end one every 2 s.
TEST_CASE("simulation record: windows, re-plans and migrations are there once a run has some") {
  const Platform platform = testing::flat_platform(2);
  LayerGraph graph;
  for (const char* name : {"a", "b", "c"}) {
    graph.layers.push_back({});
    graph.layers[LayerId(graph.layers.size() - 1)].name = name;
  }
  Plan plan;
  plan.stages.resize(2);
  plan.stages[0] = {.layers = {LayerId(0), LayerId(1)}, .replicas = {DeviceId(0)}};
  plan.stages[1] = {.layers = {LayerId(2)}, .replicas = {DeviceId(1)}};
  Simulation simulation;
  for (const char* key : {"windows", "questions", "replans", "migrations"}) {
    CHECK(find(simulation_record(simulation, graph, plan, platform, {}, false), key) == nullptr);
  }
  simulation.report.period = Seconds(2.0);
  simulation.report.course.windows = {{0, 7, 2, Seconds(3.0), 4.0}};
  ReplanQuestion question{.microbatch = 5, .at = Seconds(1.5), .keeping = Seconds(3.0), .changing = Seconds(2.0)};
  question.stall = Seconds(4.0);
  question.reason = "why";
  question.first = 7;
  question.redone = 5;
  question.stages = {{{LayerId(0)}, {DeviceId(0)}}, {{LayerId(1), LayerId(2)}, {DeviceId(1)}}};
  simulation.report.course.questions = {question};
  simulation.report.course.replans = {{7, Seconds(2.0), Late{}, Late{1, Seconds(5.0)}, StageId(2)}};
  simulation.report.course.migrations = {
      {StageId(3), platform.place(DeviceId(0)), platform.place(DeviceId(1)), Bytes(10), Seconds(2.0), Seconds(3.0)}};
  const Detail::Record record = simulation_record(simulation, graph, plan, platform, {}, false);
  CHECK(*find(record, "windows") ==
        Detail(Detail::List{Detail::Record{
            {"begin", 0}, {"end", 7}, {"microbatch_size", 2}, {"at_s", 3.0}, {"throughput_samples_per_s", 4.0}}}));
  CHECK(*find(record, "replans") == Detail(Detail::List{Detail::Record{{"microbatch", 7},
                                                                       {"at_s", 2.0},
                                                                       {"reason", "why"},
                                                                       {"keeping_s", 3.0},
                                                                       {"changing_s", 2.0},
                                                                       {"live", false},
                                                                       {"redone", 5},
                                                                       {"moved_bytes", 10},
                                                                       {"expected_stall_s", 4.0},
                                                                       {"stall_s", 3.0}}}));
  CHECK(*find(record, "migrations") == Detail(Detail::List{Detail::Record{{"stage", 1},
                                                                          {"layers", Detail::List{Detail("b")}},
                                                                          {"from", platform.devices[DeviceId(0)].name},
                                                                          {"to", platform.devices[DeviceId(1)].name},
                                                                          {"what", "state"},
                                                                          {"bytes", 10},
                                                                          {"start_s", 2.0},
                                                                          {"end_s", 3.0}}}));
}

DeviceReport filled(std::uint32_t device, std::int64_t peak, std::int64_t capacity, std::vector<StageId> stages) {
  DeviceReport report;
  report.device = DeviceId(device);
  report.stages = std::move(stages);
  report.memory.peak = Bytes(peak);
  report.memory.capacity = Bytes(capacity);
  return report;
}

// gpu0 leaves 40 of 100 bytes, gpu1 needs more than it has, gpu2 leaves 180 of 200: 220 of 400 in all. Stage 1 is on
// gpu1 and gpu2, of which gpu1 is fuller.
TEST_CASE("simulation record: idle memory is what the peaks leave, of devices and of stages") {
  const Platform platform = testing::flat_platform(3);
  Plan plan;
  plan.stages.resize(3);
  Simulation simulation;
  simulation.report.devices = {filled(0, 60, 100, {StageId(0)}), filled(1, 150, 100, {StageId(1)}),
                               filled(2, 20, 200, {StageId(1), StageId(2)})};
  const Detail::Record record = simulation_record(simulation, {}, plan, platform, {}, false);
  CHECK(*find(record, "idle_memory_bytes") == Detail(220));
  CHECK(*find(record, "idle_memory_ratio") == Detail(0.55));
  CHECK(*find(record, "idle_memory_largest_ratio") == Detail(0.9));
  CHECK(*find(record, "idle_memory_by_stage") == Detail(Detail::Record{{"0", 0.4}, {"1", 0.0}, {"2", 0.9}}));
  const auto& devices = std::get<Detail::List>(find(record, "devices")->value);
  REQUIRE(devices.size() == 3);
  const auto& overfull = std::get<Detail::Record>(devices[1].value);
  CHECK(*find(overfull, "idle_memory_bytes") == Detail(0));
  CHECK(*find(overfull, "idle_memory_ratio") == Detail(0.0));
  const auto& idle = std::get<Detail::Record>(devices[2].value);
  CHECK(*find(idle, "idle_memory_bytes") == Detail(180));
  CHECK(*find(idle, "idle_memory_ratio") == Detail(0.9));
}

}  // namespace
}  // namespace stagecraft
