#include "experiments/study/kept_inputs.hpp"

#include "experiments/study/study_file.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

Manifest manifest() {
  const Study study = parse_study(R"(schema: stagecraft/study/1
study: kept
base: {planner: uniform}
matrix:
  model: [vgg16, resnet50]
  platform: [p3.8xlarge-x4]
  platform.device_kinds.V100-SXM2-16GB.memory: [16 GiB, 12 GiB]
)",
                                  "study.yaml");
  return make_manifest(study, expand(study), {});
}

TEST_CASE("kept inputs: what is light is kept, each model and each platform for itself") {
  const Manifest study = manifest();
  REQUIRE(study.cells.size() == 4);
  const auto cell = [&](std::size_t i) {
    return read_cell(study.cells[i].cell);
  };  // vgg16 with 16 GiB, vgg16 with 12 GiB, resnet50 …
  KeptInputs kept(study);
  CHECK_FALSE(kept.keep(cell(0)));  // not known to be light
  kept.mark_light(cell(0));
  CHECK_FALSE(kept.has(cell(0)));
  CHECK(kept.keep(cell(0)));
  CHECK(kept.has(cell(0)));
  CHECK_FALSE(kept.keep(cell(0)));
  CHECK_FALSE(kept.has(cell(1)));
  kept.mark_light(cell(3));
  CHECK(kept.keep(cell(3)));
  for (std::size_t i = 0; i < 4; ++i) CHECK(kept.has(cell(i)));  // both models and both platforms are there
}

TEST_CASE("kept inputs: kept or not, a cell's inputs are those of its files") {
  const Manifest study = manifest();
  KeptInputs kept(study);
  for (int round = 0; round < 2; ++round) {
    for (const StudyCell& each : study.cells) {
      const CellSpec cell = read_cell(each.cell);
      const Inputs inputs = kept.inputs_of(cell);
      const Inputs loaded = load_inputs(study, cell);
      CHECK(inputs.model_hash == loaded.model_hash);
      CHECK(inputs.platform_hash == loaded.platform_hash);
      CHECK(inputs.platform.capacity(DeviceId(0)) == loaded.platform.capacity(DeviceId(0)));
      CHECK(inputs.model == loaded.model);
      kept.mark_light(cell);
      static_cast<void>(kept.keep(cell));
    }
  }
}

}  // namespace
}  // namespace stagecraft
