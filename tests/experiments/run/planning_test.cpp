#include "experiments/run/planning.hpp"

#include "planners/registry.hpp"
#include "planners/shared/turns/turn_order.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/platform_file.hpp"
#include "tests/model/topologies.hpp"
#include "tests/paths.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

/// Four layers, profiled with 24 samples, on two nodes of two devices.
Inputs four_layers() {
  LayerGraph graph = testing::chain({9, 15, 21, 21});
  const std::vector<std::int64_t> parameters{1478, 1278, 332, 205};
  const std::vector<std::int64_t> outputs{885, 618, 33, 672};
  graph.microbatch_size = 24;
  for (std::size_t l = 0; l < 4; ++l) {
    Layer& layer = graph.layers[LayerId(l)];
    layer.parameters = Bytes(parameters[l]);
    layer.output = Bytes(outputs[l]);
    layer.stash = Bytes(600);
    if (l < 3) graph.edges[l].bytes = layer.output;
  }
  PlatformSpec spec;
  spec.name = "cluster";
  spec.device_kinds.push_back({"A", Bytes(10124), 1.0, Bytes(0), std::nullopt});
  spec.form = test::nodes_of(2, 2, Interconnect{SwitchedNode{}, test::link_of(1000)}, SwitchedNetwork{},
                             NicSpec{test::link_of(100), false});
  return {{{graph}}, build_platform(spec), "", ""};
}

}  // namespace

// With 9 samples DAPPLE divides microbatches so that all fits, with other sizes it does not. Bisection looks at 12, 6,
// 3, … and finds nothing.
TEST_CASE("plan: the largest microbatch that fits is found where smaller ones do not fit") {
  const Inputs inputs = four_layers();
  const PlannerInfo& dapple = find_planner("dapple");
  PlanningChoices choices;
  choices.microbatches = 8;
  choices.memory = MemoryPolicy::Keep;
  const auto plan = [&] { return make_plan(dapple, inputs, choices, [](const std::string&) {}); };
  CHECK(plan().largest_microbatch_size == 9);
  for (std::int64_t size = 1; size < 24; ++size) {
    CAPTURE(size);
    choices.microbatch_size = size;
    CHECK((plan().planned() != nullptr) == (size == 9));
  }
}

TEST_CASE("plan: a note tells of parts of microbatches outside the sizes of the profile") {
  Inputs inputs = four_layers();
  inputs.platform = with_memory(inputs.platform, Bytes(1 << 20));
  PlanningChoices choices;
  choices.microbatches = 8;
  const auto notes = [&](const char* planner) {
    std::string text;
    static_cast<void>(
        make_plan(find_planner(planner), inputs, choices, [&](const std::string& note) { text += note + "\n"; }));
    return text;
  };
  CHECK(notes("dapple").find("parts of 6, outside the sizes of the profile") != std::string::npos);
  CHECK(notes("uniform").find("outside the sizes") == std::string::npos);
}

TEST_CASE("plan: an asynchronous run is as long as its measurement needs, whatever microbatches are asked for") {
  Inputs inputs = four_layers();
  inputs.model.profiles.front().microbatch_size = 1;
  inputs.platform = testing::flat_platform(4, 1000.0, Bytes(1'000'000));
  PlanningChoices choices;
  const auto planned_microbatches = [&] {
    return make_plan(find_planner("pipedream"), inputs, choices, [](const std::string&) {})
        .planned()
        ->plan.microbatches;
  };
  const std::int64_t usual = planned_microbatches();
  choices.microbatches = 2;
  CHECK(planned_microbatches() == usual);
  choices.microbatches.reset();
  choices.global_batch = 2;
  CHECK(planned_microbatches() == usual);
  choices.global_batch = 1000;
  CHECK(planned_microbatches() == 1000);
}

// SPP's own order of the devices makes its plan for VGG-16 on this cluster 1.4 times as slow.
TEST_CASE("plan: the order of turns is chosen, whichever planner orders the devices") {
  const std::string data = STAGECRAFT_SOURCE_DIR;
  const Inputs inputs{read_model_file(data + "/traces/vgg16.yaml"),
                      build_platform(read_platform_file(data + "/platforms/pipedream-cluster-a.yaml")), "", ""};
  for (const char* name : {"spp", "dapple", "pipedream", "pipedream-sync", "hetpipe"}) {
    CAPTURE(name);
    const Planning planning = make_plan(find_planner(name), inputs, {}, [](const std::string&) {});
    REQUIRE(planning.planned() != nullptr);
    Plan plan = planning.planned()->plan;
    CHECK_FALSE(order_turns(planning.graph, inputs.platform, plan));
  }
}

}  // namespace stagecraft
