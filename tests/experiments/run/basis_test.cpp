#include "experiments/run/basis.hpp"

#include "experiments/run/simulation.hpp"
#include "experiments/view/basis_words.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/measured_profiles.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

namespace stagecraft {
namespace {

/// Two layers of 1 s forward and 2 s backward, measured with 8 samples on kind A.
LayerGraph measured_chain() {
  LayerGraph graph = testing::chain({1.0, 1.0});
  graph.microbatch_size = 8;
  graph.origin = Origin::Measured;
  return graph;
}

Stage stage_of(const std::vector<LayerId>& layers, const std::vector<DeviceId>& devices) {
  Stage stage;
  stage.layers = layers;
  for (DeviceId device : devices) stage.replicas.emplace_back(device);
  stage.replication = devices.size() > 1 ? Replication::Split : Replication::RoundRobin;
  return stage;
}

Plan plan_of(const std::vector<Stage>& stages) {
  Plan plan;
  plan.model = "chain";
  plan.schedule = {"gpipe", {}};
  plan.microbatches = 1;
  plan.microbatch_size = 8;
  plan.stages = stages;
  return plan;
}

Basis basis_of_run(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  SimulationChoices choices;
  choices.engine = EngineChoice::Evaluate;
  return simulate_program(graph, platform, require_schedule(graph, platform, plan), choices, Settings()).basis;
}

double share(const Basis& basis, BasisInput input, Origin origin) {
  const auto found = basis.find({input, origin});
  return found == basis.end() ? 0.0 : found->second;
}

}  // namespace

// One microbatch over two devices: each computes 3 s. The second waits 0.1 s for the tensor, the first 0.1 s for its
// gradient; what is left of their time is idle.
TEST_CASE("basis: a pipeline of two stages by hand") {
  Platform platform = testing::flat_platform(2);
  platform.spec.origins.links = Origin::Published;
  const Plan plan = plan_of({stage_of({LayerId(0)}, {DeviceId(0)}), stage_of({LayerId(1)}, {DeviceId(1)})});
  const Basis basis = basis_of_run(measured_chain(), platform, plan);
  CHECK(basis.size() == 2);
  CHECK(share(basis, BasisInput::Times, Origin::Measured) == doctest::Approx(6.0 / 6.2).epsilon(1e-9));
  CHECK(share(basis, BasisInput::Links, Origin::Published) == doctest::Approx(0.2 / 6.2).epsilon(1e-9));
  CHECK(basis_text(ranges_of({basis})) ==
        "Inputs behind these times: layer times measured (97 %), links published (3 %)");
}

// Both layers on two devices that divide the microbatch: 3 s each in proportion, then an all-reduce of 200 bytes, in
// which each sends 200 bytes at 100 bytes/s.
TEST_CASE("basis: parts of a microbatch are extrapolated, unless the model has their size") {
  Platform platform = testing::flat_platform(2);
  const Plan plan = plan_of({stage_of({LayerId(0), LayerId(1)}, {DeviceId(0), DeviceId(1)})});
  LayerGraph graph = measured_chain();
  Basis basis = basis_of_run(graph, platform, plan);
  CHECK(share(basis, BasisInput::Times, Origin::Extrapolated) == doctest::Approx(3.0 / 5.0).epsilon(1e-9));
  CHECK(share(basis, BasisInput::Collectives, Origin::Assumed) == doctest::Approx(2.0 / 5.0).epsilon(1e-9));
  LayerGraph half = graph;
  half.microbatch_size = 4;
  graph.own_times = std::make_shared<MeasuredProfiles>(std::vector<LayerGraph>{half, graph});
  basis = basis_of_run(graph, platform, plan);  // half a microbatch takes as long as a whole one
  CHECK(share(basis, BasisInput::Times, Origin::Measured) == doctest::Approx(6.0 / 8.0).epsilon(1e-9));
  graph.own_times = std::make_shared<MeasuredProfiles>(std::vector<LayerGraph>{[&] {
                                                                                 LayerGraph two = half;
                                                                                 two.microbatch_size = 2;
                                                                                 return two;
                                                                               }(),
                                                                               graph});
  basis = basis_of_run(graph, platform, plan);
  CHECK(share(basis, BasisInput::Times, Origin::Interpolated) == doctest::Approx(6.0 / 8.0).epsilon(1e-9));
}

TEST_CASE(
    "basis: a kind that the profile does not know is extrapolated by its speed, and assumed if the user gives it") {
  PlatformSpec spec = testing::flat_platform(2).spec;
  spec.device_kinds.push_back({"B", Bytes(1'000'000), 0.5, Bytes(0), std::nullopt});
  std::get<ExplicitForm>(spec.form).devices[DeviceId(1)].kind = DeviceKindId(1);
  const Plan plan = plan_of({stage_of({LayerId(0)}, {DeviceId(0)}), stage_of({LayerId(1)}, {DeviceId(1)})});
  Basis basis = basis_of_run(measured_chain(), build_platform(spec), plan);
  CHECK(share(basis, BasisInput::Times, Origin::Measured) == doctest::Approx(3.0 / 9.2).epsilon(1e-9));
  CHECK(share(basis, BasisInput::Times, Origin::Extrapolated) == doctest::Approx(6.0 / 9.2).epsilon(1e-9));
  spec.speeds = {{"B", 1.0}};
  basis = basis_of_run(measured_chain(), build_platform(spec), plan);
  CHECK(share(basis, BasisInput::Times, Origin::Assumed) == doctest::Approx(3.0 / 6.2).epsilon(1e-9));
}

TEST_CASE("basis: words and ranges over runs, and there and back") {
  const Basis first = {{{BasisInput::Times, Origin::Computed}, 0.75}, {{BasisInput::Links, Origin::Assumed}, 0.25}};
  const Basis second = {{{BasisInput::Times, Origin::Computed}, 1.0}};
  CHECK(basis_of_record(basis_record(first)) == first);
  CHECK(basis_text(ranges_of({first, second})) ==
        "Inputs behind these times: layer times computed (75 to 100 %), links assumed (0 to 25 %)");
  CHECK(basis_text(ranges_of({})).empty());
  CHECK(basis_of_record({{"times", 3}, {"weather", Detail::Record{}}}).empty());
}

}  // namespace stagecraft
