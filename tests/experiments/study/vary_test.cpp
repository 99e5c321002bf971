// Cells whose model and platform differ from their files, and cells whose planner gets a profile with errors.
#include "experiments/study/cell_inputs.hpp"
#include "experiments/study/run_cell.hpp"
#include "experiments/study/study_file.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace stagecraft {
namespace {

/// The rows of a study on the toy model and platform.
std::vector<Row> rows_of(const std::string& keys) {
  const Toy toy;
  const std::string text = "schema: stagecraft/study/1\nstudy: s\nbase: {model: toy.yaml, platform: pair.yaml, " +
                           std::string("microbatches: 8, engine: evaluate}\n") + keys;
  const Study study = parse_study(text, toy.file("study.yaml"));
  const Manifest manifest = make_manifest(study, expand(study), {});
  std::vector<Row> rows;
  for (const StudyCell& cell : manifest.cells) {
    const CellSpec spec = read_cell(cell.cell);
    rows.push_back(run_cell(manifest, cell.key, spec, load_inputs(manifest, spec)));
    CAPTURE(rows.back().message);
    CHECK(rows.back().status == CellStatus::Ok);
  }
  return rows;
}

double figure(const Row& row, const std::string& name) {
  const Detail* value = find_key(row.figures, name);
  REQUIRE(value != nullptr);
  return std::get<double>(value->value);
}

}  // namespace

// GPipe with one layer on each of two devices: 9 forwards and backwards of 30 ms and two tensors of 1 ms.
TEST_CASE("vary: the planner plans for what varies, and the run has it") {
  const std::vector<Row> rows = rows_of(
      "matrix: {planner: [{name: uniform, schedule: gpipe, replicas: 1}]}\n"
      "zip: [{vary.bandwidth: [1, 0.5, 1, 1], vary.compute: [1, 1, 0.8, 1], vary.network: [1, 1, 1, 0.5]}]\n");
  REQUIRE(rows.size() == 4);
  CHECK(figure(rows[0], "iteration_time_s") == doctest::Approx(0.272).epsilon(1e-9));
  CHECK(figure(rows[1], "iteration_time_s") == doctest::Approx(0.274).epsilon(1e-9));
  CHECK(figure(rows[2], "iteration_time_s") == doctest::Approx(0.27 * 1.25 + 0.002).epsilon(1e-9));
  CHECK(figure(rows[3], "iteration_time_s") == doctest::Approx(0.272).epsilon(1e-9));  // there are no nodes
  CHECK(figure(rows[2], "predicted_iteration_time_s") > 1.2 * figure(rows[0], "predicted_iteration_time_s"));
}

// Whatever the planner believes, both layers take the times of the file when the plan runs.
TEST_CASE("profile noise: the planner gets times with errors, the run has the true ones") {
  const std::vector<Row> rows = rows_of(
      "matrix: {planner: [{name: uniform, schedule: gpipe, replicas: 1}], profile_noise: [0, 0.2]}\nseeds: {count: "
      "5}\n");
  REQUIRE(rows.size() == 10);
  for (const Row& row : rows) CHECK(figure(row, "iteration_time_s") == doctest::Approx(0.272).epsilon(1e-9));
  for (std::size_t i = 1; i < 5; ++i) {
    CHECK(figure(rows[i], "predicted_iteration_time_s") == figure(rows[0], "predicted_iteration_time_s"));
  }
  for (std::size_t i = 5; i < 10; ++i) {
    CHECK(figure(rows[i], "predicted_iteration_time_s") != figure(rows[0], "predicted_iteration_time_s"));
    if (i > 5) {
      CHECK(figure(rows[i], "predicted_iteration_time_s") != figure(rows[i - 1], "predicted_iteration_time_s"));
    }
  }
}

}  // namespace stagecraft
