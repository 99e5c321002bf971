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
  tensor: 4
  sequence_parallel: false
  context: 2
  context_attention: all-gather
  expert: 8
  imbalance: 1.5
  nodes: 3
  engine: evaluate
  network: analytic
  iterations: 5
  events: slow.yaml
  training: {gradient_copies: 3, optimizer_copies: 4, boundary_buffers: 5, input_gradient_release: 0.5,
             gradient_bucket: 1 MiB, stash: input, zero: 3}
  training.zero: 2
  model.name: other
  madpipe.states: exact
  tag.size: small
  vary: {bandwidth: 0.5, network: 2}
  vary.compute: 1
  vary.collective_efficiency: 0.25
  vary.latency: 10
  profile_noise: 0.05
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
  CHECK(spec.variation ==
        Variation{.bandwidth = 0.5, .network = 2, .compute = 1, .collective_efficiency = 0.25, .latency = 10});
  CHECK(spec.profile_noise == 0.05);
  const PlanningChoices& planning = spec.planning;
  CHECK(planning.schedule == ScheduleChoice{"1f1b-star", {{"release", "asap"}}});
  CHECK(planning.microbatches == 8);
  CHECK(planning.microbatch_size == 2);
  CHECK_FALSE(planning.global_batch);
  CHECK(planning.degrees == Degrees{.tensor = 4,
                                    .sequence = false,
                                    .context = 2,
                                    .attention = ContextAttention::AllGather,
                                    .expert = 8,
                                    .imbalance = 1.5});
  CHECK(planning.iterations == 5);
  CHECK(planning.training.gradient_copies == 3);
  CHECK(planning.training.optimizer_copies == 4);
  CHECK(planning.training.boundary_buffers == 5);
  CHECK(planning.training.input_gradient_release == 0.5);
  CHECK(planning.training.gradient_bucket == Bytes(1 << 20));
  CHECK(planning.training.stash == StashConvention::Input);
  CHECK(planning.training.zero == 2);
  CHECK(planning.options == std::vector<std::pair<std::string, std::string>>{{"stages", "4"}, {"replicas", "2"}});
}

TEST_CASE("cell spec: zero is short for training.zero, also as an axis and in tables") {
  const Study study = parse_study(R"(schema: stagecraft/study/1
study: divided
base: {model: vgg16, platform: dgx-a100, planner: uniform}
matrix: {zero: [0, 3]}
tables: [{rows: zero, columns: granularity, value: period_s}]
)",
                                  "study.yaml");
  const std::vector<Cell> cells = expand(study).cells;
  REQUIRE(cells.size() == 2);
  CHECK(find_key(cells[1].keys, "training.zero") != nullptr);
  CHECK(read_cell(cells[0]).planning.training.zero == 0);
  CHECK(read_cell(cells[1]).planning.training.zero == 3);
  REQUIRE(study.tables.size() == 1);
  CHECK(study.tables.front().rows == std::vector<std::string>{"training.zero"});
  CHECK(study.tables.front().columns == std::vector<std::string>{"model.computed.granularity"});
}

TEST_CASE("cell spec: what a key leaves out has the defaults of a run") {
  const CellSpec spec = read_cell({{{"model", "m"}, {"platform", "p"}, {"planner", "uniform"}}, 1});
  CHECK(spec.engine == EngineChoice::Replay);
  CHECK(spec.network == NetworkModel::Platform);
  CHECK(spec.events.empty());
  CHECK(spec.variation == Variation());
  CHECK(spec.profile_noise == 0.0);
  CHECK(spec.planning.iterations == 1);
  CHECK_FALSE(spec.planning.schedule);
  CHECK_FALSE(spec.planning.microbatches);
}

TEST_CASE(
    "cell spec: one seed errs the same way at every size of the profile's errors, and on another platform another "
    "way") {
  const auto seed_with = [](const Detail& sigma, const Detail& bandwidth) {
    const Keys keys{{"model", "m"},
                    {"platform", "p"},
                    {"planner", "uniform"},
                    {"profile_noise", sigma},
                    {"vary.bandwidth", bandwidth}};
    return read_cell({keys, 1}).noise_seed;
  };
  CHECK(seed_with(0.1, 1.0) != 0);
  CHECK(seed_with(0.1, 1.0) == seed_with(0.2, 1.0));
  CHECK(seed_with(0.1, 1.0) != seed_with(0.1, 2.0));
}

TEST_CASE("cell spec: a capacity factor is another way to say what the busiest expert device gets, and none is none") {
  const auto imbalance = [](const std::string& keys) {
    const Study study = parse_study(
        "schema: stagecraft/study/1\nstudy: s\nbase: {model: m, platform: p, planner: uniform, expert: 8, " + keys +
            "}\n",
        "study.yaml");
    return read_cell(expand(study).cells.at(0)).planning.degrees.imbalance;
  };
  CHECK(imbalance("capacity: 1.25") == 1.25);
  CHECK(imbalance("capacity: none") == 1.0);
  CHECK(imbalance("capacity: none, imbalance: 1.5") == 1.5);
  CHECK_THROWS_AS(static_cast<void>(imbalance("capacity: 1.25, imbalance: 1.5")), InputError);
}

TEST_CASE("cell spec: a value of another type than a study file gives is refused") {
  CHECK_THROWS_AS(static_cast<void>(read_cell({{{"planner", 3}}, 1})), InputError);
  CHECK_THROWS_AS(static_cast<void>(read_cell({{{"planner", "uniform"}, {"vary.compute", "2"}}, 1})), InputError);
  CHECK_THROWS_AS(static_cast<void>(read_cell({{{"planner", "uniform"}, {"microbatches", "8"}}, 1})), InputError);
}

}  // namespace
}  // namespace stagecraft
