// What planners that save memory in stages know of a model, a schedule and a platform.
#include "planners/shared/savings/saving_pipeline.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/limits.hpp"
#include "planners/shared/savings/fitted_plan.hpp"
#include "planners/shared/savings/stage_devices.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/saving_fixtures.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft::saving_pipeline_test {

using namespace stagecraft::testing;

namespace {

const PlannerInfo& some_planner() { return find_planner("dawnpiper"); }

using Counts = std::vector<std::int64_t>;

Counts in_flight(const std::vector<StagePlace>& places) {
  Counts counts;
  for (const StagePlace& place : places) counts.push_back(place.in_flight);
  return counts;
}

Counts weight_versions(const std::vector<StagePlace>& places) {
  Counts counts;
  for (const StagePlace& place : places) counts.push_back(place.weight_versions);
  return counts;
}

/// One node of four devices.
Platform node_platform(const HostSpec& host) {
  NodeKind kind;
  kind.name = "node";
  kind.device_kind = DeviceKindId(0);
  kind.device_count = 4;
  const LinkSpec fast{BytesPerSecond(100.0), Seconds(0)};
  kind.interconnect = Interconnect{PcieNode{2, LinkSpec{BytesPerSecond(30.0), Seconds(0)}, 0, fast}, fast};
  kind.host = host;
  PlatformSpec spec = flat_platform(1).spec;
  NodeForm form;
  form.node_kinds.push_back(kind);
  form.groups.push_back({NodeKindId(0), 1});
  form.network = SwitchedNetwork{};
  spec.form = form;
  return build_platform(spec);
}

SavedStages all_kept(const SavingPipeline& pipeline, std::vector<std::size_t> cuts) {
  SavedStages found{std::move(cuts), {}};
  for (std::size_t s = 0; s + 1 < found.cuts.size(); ++s) {
    const SavingStage stage = pipeline.stage(s, found.cuts[s], found.cuts[s + 1]);
    const std::vector<UnitAction> keep(stage.units.size(), UnitAction::Keep);
    found.savings.push_back({keep, saved_time(stage.units, keep, stage.budget), saved_memory(stage, keep)});
  }
  return found;
}

}  // namespace

TEST_CASE("saving pipeline: what each stage keeps is what the schedule compiles") {
  const LayerGraph graph = chain(std::vector<double>(8, 1.0));
  const Platform platform = flat_platform(4);
  const auto places = [&](const std::string& schedule, std::int64_t microbatches) {
    const PlanRequest request = request_for(some_planner(), graph, platform, schedule, microbatches);
    return stage_places(some_planner(), request, device_runs(4, 1));
  };
  CHECK(in_flight(places("pipedream", 64)) == Counts{4, 3, 2, 1});
  CHECK(weight_versions(places("pipedream", 64)) == Counts{4, 3, 2, 1});
  CHECK(in_flight(places("1f1b", 64)) == Counts{4, 3, 2, 1});
  CHECK(in_flight(places("1f1b", 2)) == Counts{2, 2, 2, 1});
  CHECK(weight_versions(places("1f1b", 64)) == Counts{1, 1, 1, 1});
  CHECK(in_flight(places("gpipe", 6)) == Counts{6, 6, 6, 6});
  CHECK(in_flight(places("eager-1f1b", 64)) == Counts{7, 5, 3, 1});
}

TEST_CASE("saving pipeline: with an update after every second microbatch fewer versions of the weights are kept") {
  const LayerGraph graph = chain(std::vector<double>(8, 1.0));
  const Platform platform = flat_platform(4);
  PlanRequest request = request_for(some_planner(), graph, platform, "pipedream", 64);
  request.samples_per_update = 2 * graph.microbatch_size;
  CHECK(rounds_per_update(request, 1) == 2);
  // One version, and one for each update between the oldest forward in flight and now: ⌈(K - 1) / 2⌉.
  CHECK(weight_versions(stage_places(some_planner(), request, device_runs(4, 1))) == Counts{3, 2, 2, 1});
  request.samples_per_update = graph.microbatch_size + 1;
  CHECK(rounds_per_update(request, 1) == 1);
}

TEST_CASE("saving pipeline: devices that share a link to host memory get equal parts of it") {
  const LayerGraph graph = chain(std::vector<double>(8, 1.0));
  const auto places = [&](const Platform& platform, std::size_t stages) {
    return stage_places(some_planner(), request_for(some_planner(), graph, platform, "1f1b", 8),
                        device_runs(stages, 1));
  };
  const HostSpec pairs{Bytes(1'000'000), LinkSpec{BytesPerSecond(12.0), Seconds(0)}, 2};
  for (const StagePlace& place : places(node_platform(pairs), 4)) {
    CHECK(place.host_bandwidth == 6.0);
    CHECK_FALSE(place.half_duplex);
  }
  // Of three stages the third has its link for itself.
  CHECK(places(node_platform(pairs), 3)[2].host_bandwidth == 12.0);
  HostSpec half = pairs;
  half.link->duplex = Duplex::Half;
  CHECK(places(node_platform(half), 4)[0].host_bandwidth == 6.0);
  CHECK(places(node_platform(half), 4)[0].half_duplex);
  // Without a link of its own a swap takes the PCIe tree, where two devices share an uplink of 30.
  const HostSpec tree{Bytes(1'000'000), std::nullopt, 1};
  CHECK(places(node_platform(tree), 4)[0].host_bandwidth == 15.0);
  CHECK(places(flat_platform(4), 4)[0].host_bandwidth == 0.0);
}

TEST_CASE("saving pipeline: replicas of a stage share links, and its figures are those of the slowest and smallest") {
  const LayerGraph graph = chain(std::vector<double>(8, 1.0));
  const auto places = [&](const Platform& platform, std::int64_t microbatches) {
    const PlanRequest request = request_for(some_planner(), graph, platform, "1f1b", microbatches);
    return stage_places(some_planner(), request, device_runs(2, 2));
  };
  // Two switches of two devices: both replicas of a stage are behind one uplink of 30, and the boundary crosses it.
  const HostSpec host{Bytes(1'000'000), LinkSpec{BytesPerSecond(12.0), Seconds(0)}, 4};
  const std::vector<StagePlace> two = places(node_platform(host), 16);
  CHECK(two[0].devices == std::vector{DeviceId(0), DeviceId(1)});
  CHECK(two[1].devices == std::vector{DeviceId(2), DeviceId(3)});
  CHECK(two[0].bandwidth == BytesPerSecond(15.0));
  CHECK(two[0].host_bandwidth == 3.0);  // four devices on one link
  CHECK(in_flight(two) == Counts{2, 1});
  CHECK(in_flight(places(node_platform(host), 2)) == Counts{1, 1});  // each replica runs one of two

  PlatformSpec spec = flat_platform(4, 100.0, Bytes(500)).spec;
  spec.device_kinds.push_back({"B", Bytes(400), 0.5, Bytes(0), std::nullopt});
  std::get<ExplicitForm>(spec.form).devices[DeviceId(1)].kind = DeviceKindId(1);
  const std::vector<StagePlace> uneven = places(build_platform(spec), 16);
  CHECK(uneven[0].factor == 2.0);
  CHECK(uneven[0].capacity == Bytes(400));
  CHECK(uneven[1].factor == 1.0);
  CHECK(uneven[1].capacity == Bytes(500));
}

TEST_CASE("saving pipeline: with replicas a round of an update has a microbatch for each") {
  const LayerGraph graph = chain(std::vector<double>(8, 1.0));
  const Platform platform = flat_platform(4);
  PlanRequest request = request_for(some_planner(), graph, platform, "pipedream", 64);
  request.samples_per_update = 6 * graph.microbatch_size;
  CHECK(rounds_per_update(request, 2) == 3);
  CHECK(rounds_per_update(request, 3) == 2);
  CHECK(rounds_per_update(request, 4) == 1);
}

TEST_CASE("saving pipeline: as many stages and replicas as the options ask for") {
  const LayerGraph graph = chain(std::vector<double>(5, 1.0));
  const Platform platform = flat_platform(8);
  const auto devices = [&](const std::string& stages, const std::string& replicas) {
    PlanRequest request = request_for(some_planner(), graph, platform, "1f1b", 8);
    request.options = parse_options(some_planner(), {{"stages", stages}, {"replicas", replicas}});
    return stage_devices(some_planner(), request, 5);
  };
  CHECK(devices("0", "1") == device_runs(5, 1));
  CHECK(devices("0", "2") == device_runs(4, 2));
  CHECK(devices("2", "4") == device_runs(2, 4));
  CHECK(devices("2", "1") == device_runs(2, 1));
  CHECK_THROWS_AS(devices("3", "3"), InputError);
  CHECK_THROWS_AS(devices("0", "9"), InputError);
  CHECK_THROWS_AS(devices("6", "1"), InputError);
  CHECK_THROWS_AS(devices("9007199254740991", "9007199254740991"), InputError);
}

TEST_CASE("saving pipeline: stages have the memory of the ledger, whatever a graph's edges skip") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    LayerGraph graph = varied_graph(2 * seed + 1, 12);  // without shared tensors
    // So that no tensor goes to two later stages, which count it twice: an edge that skips layers starts in the middle
    // stage or ends there.
    std::erase_if(graph.edges, [](const LayerEdge& edge) { return edge.from.value() < 4 && edge.to.value() >= 8; });
    const Platform platform = flat_platform(3, 1e6);
    const PlanRequest request = request_for(some_planner(), graph, platform, "pipedream", 64);
    const SavingPipeline pipeline(some_planner(), request, {});
    const SavedStages found = all_kept(pipeline, {0, 4, 8, 12});
    const Plan plan = pipeline.plan(found.cuts, found.savings);
    const auto peaks = ledger_peaks(graph, platform, require_schedule(graph, platform, plan));
    for (std::size_t s = 0; s < 3; ++s) CHECK(peaks[s].second == found.savings[s].memory);
  }
}

TEST_CASE("saving pipeline: actions become swaps, and segments of one unit or of several") {
  const LayerGraph graph = chain(std::vector<double>(6, 1.0));
  const Platform platform = swapping_platform(1, Bytes(1'000'000), 10.0);
  const PlanRequest request = request_for(some_planner(), graph, platform, "1f1b", 8);
  using enum UnitAction;
  const SavingPipeline pipeline(some_planner(), request, {});
  const auto actions = [&](UnitAction last) {
    const std::vector<StageSaving> savings = {{{Recompute, Keep, Swap, Swap, Recompute, last}, Seconds(0), Bytes(0)}};
    return pipeline.plan(std::vector<std::size_t>{0, 6}, savings).stages.front().memory;
  };
  const auto layer = [](std::size_t i) { return std::vector<LayerId>{LayerId(i)}; };
  const std::vector<MemoryAction> apart = {stagecraft::Recompute{layer(0)}, stagecraft::Swap{layer(2)},
                                           stagecraft::Swap{layer(3)}, stagecraft::Recompute{layer(4)},
                                           stagecraft::Recompute{layer(5)}};
  CHECK(actions(Recompute) == apart);
  const std::vector<MemoryAction> joined = {stagecraft::Recompute{layer(0)}, stagecraft::Swap{layer(2)},
                                            stagecraft::Swap{layer(3)},
                                            stagecraft::Recompute{{LayerId(4), LayerId(5)}}};
  CHECK(actions(Join) == joined);
}

TEST_CASE("saving pipeline: a cut inside a block leaves a part of the block on either side") {
  // Two residual blocks behind the first layer: layers 1 to 3 and 4 to 5.
  LayerGraph graph = chain(std::vector<double>(6, 1.0));
  graph.edges.push_back({LayerId(0), LayerId(3), Bytes(10)});
  graph.edges.push_back({LayerId(3), LayerId(5), Bytes(10)});
  const Platform platform = flat_platform(2);
  const PlanRequest request = request_for(some_planner(), graph, platform, "1f1b", 8);
  const SavingPipeline pipeline(some_planner(), request, {.cuts = UnitGrain::Layers, .actions = UnitGrain::Blocks});
  CHECK(pipeline.units() == 6);
  CHECK(pipeline.stage(0, 0, 2).units.size() == 2);  // layer 0, and layer 1 of the first block
  CHECK(pipeline.stage(1, 2, 6).units.size() == 2);  // layers 2 and 3, and the second block
  CHECK(pipeline.stage(1, 2, 6).units[0].stash == Bytes(20));
  CHECK(pipeline.stage(1, 2, 6).units[0].checkpoint == Bytes(10));
}

TEST_CASE("saving pipeline: a plan that the ledger refuses is sought again with less capacity, but not for ever") {
  const LayerGraph graph = chain(std::vector<double>(4, 1.0));
  const Platform platform = flat_platform(2, 100.0, Bytes(500));
  const PlanRequest request = request_for(some_planner(), graph, platform, "1f1b", 8);
  std::vector<Bytes> capacities;
  const PlanResult result = fitted_plan({some_planner(), request, {}}, [&](const SavingPipeline& pipeline) {
    capacities.push_back(pipeline.places()[0].capacity);
    return std::optional(all_kept(pipeline, {0, 2, 4}));  // takes no notice of the capacity
  });
  // Parameters of 200 bytes four times, buffers of 20 and stashes of two microbatches of 20: 860 bytes.
  REQUIRE(capacities.size() == static_cast<std::size_t>(kMostLedgerRounds));
  CHECK(capacities[0] == Bytes(500));
  CHECK(capacities[1] == Bytes(500 - 360));
  REQUIRE(std::holds_alternative<Infeasible>(result));
  CHECK(std::get<Infeasible>(result).search.has_value());
  CHECK(std::get<Infeasible>(result).device.has_value());
}

}  // namespace stagecraft::saving_pipeline_test
