#include "experiments/study/cell_spec.hpp"

#include "experiments/study/manifest.hpp"
#include "experiments/study/study_file.hpp"
#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

TEST_CASE("cell spec: every key of a study file has its value") {
  const Study study = parse_study(R"(schema: stagecraft/study/1
study: s
base:
  model: vgg16
  platform: p3.8xlarge-x4
  planner: {name: uniform, label: mine, stages: 4, replicas: 2}
  schedule: {name: 1f1b-star, release: asap}
  microbatches: 8
  microbatch_size: 2
  nodes: 3
  engine: evaluate
  network: analytic
  iterations: 5
  events: slow.yaml
  training: {gradient_copies: 3, optimizer_copies: 4, boundary_buffers: 5, input_gradient_release: 0.5, gradient_bucket: 1 MiB}
  model.name: other
  options.madpipe.states: exact
  tag.size: small
)",
                                  "study.yaml");
  const Expansion expansion = expand(study);
  REQUIRE(expansion.cells.size() == 1);
  const CellSpec spec = read_cell(expansion.cells.front());
  CHECK(spec.model == "vgg16");
  CHECK(spec.platform == "p3.8xlarge-x4");
  CHECK(spec.planner == "uniform");
  CHECK(spec.events == "slow.yaml");
  CHECK(spec.model_values == Keys{{"name", "other"}});
  CHECK(spec.platform_values == Keys{{"nodes.count", 3}});
  CHECK(spec.engine == EngineChoice::Evaluate);
  CHECK(spec.network == NetworkModel::Analytic);
  CHECK(spec.noise_seed == noise_seed(expansion.cells.front()));
  const PlanningChoices& planning = spec.planning;
  CHECK(planning.schedule == ScheduleChoice{"1f1b-star", {{"release", "asap"}}});
  CHECK(planning.microbatches == 8);
  CHECK(planning.microbatch_size == 2);
  CHECK_FALSE(planning.global_batch);
  CHECK(planning.iterations == 5);
  CHECK(planning.training.gradient_copies == 3);
  CHECK(planning.training.optimizer_copies == 4);
  CHECK(planning.training.boundary_buffers == 5);
  CHECK(planning.training.input_gradient_release == 0.5);
  CHECK(planning.training.gradient_bucket == Bytes(1 << 20));
  CHECK(planning.options == std::vector<std::pair<std::string, std::string>>{{"stages", "4"}, {"replicas", "2"}});
}

TEST_CASE("cell spec: what a key leaves out has the defaults of a run") {
  const CellSpec spec = read_cell({{{"model", "m"}, {"platform", "p"}, {"planner", "uniform"}}, 1});
  CHECK(spec.engine == EngineChoice::Replay);
  CHECK(spec.network == NetworkModel::Platform);
  CHECK(spec.events.empty());
  CHECK(spec.planning.iterations == 1);
  CHECK_FALSE(spec.planning.schedule);
  CHECK_FALSE(spec.planning.microbatches);
}

TEST_CASE("cell spec: a value of another type than a study file gives is refused") {
  CHECK_THROWS_AS(static_cast<void>(read_cell({{{"planner", 3}}, 1})), InputError);
  CHECK_THROWS_AS(static_cast<void>(read_cell({{{"planner", "uniform"}, {"microbatches", "8"}}, 1})), InputError);
}

}  // namespace
}  // namespace stagecraft
