#include "planners/pipedream/down_sets.hpp"
#include "planners/pipedream/recurrence.hpp"
#include "sim/io/import_pipedream.hpp"
#include "sim/io/text_file.hpp"
#include "tests/paths.hpp"

#include <benchmark/benchmark.h>

#include <filesystem>
#include <string>

// From the layer graph in memory to the stages, on the profiles of PipeDream's authors.
namespace {

using stagecraft::BytesPerSecond;
using stagecraft::Level;

void plan(benchmark::State& state, const std::string& file, const std::vector<Level>& levels, bool straight) {
  const std::filesystem::path path = std::filesystem::path(STAGECRAFT_SHARED_DIR) / file;
  if (!std::filesystem::exists(path)) {
    state.SkipWithError("no such profile on this machine");
    return;
  }
  const auto model = stagecraft::import_pipedream(stagecraft::read_text_file(path.string()), path.string(), 1, "V100");
  stagecraft::pipedream::Settings settings;
  settings.levels = levels;
  settings.straight = straight;
  double states = 0.0;
  for (auto _ : state) {
    const auto sets = stagecraft::pipedream::enumerate_down_sets(model.profiles[0], 200000).value();
    const auto answer = stagecraft::pipedream::optimize(sets, settings);
    benchmark::DoNotOptimize(answer.period);
    states = static_cast<double>(sets.count);
  }
  state.counters["states"] = states;
  state.counters["transitions"] = stagecraft::pipedream::transitions(static_cast<std::size_t>(states), settings);
}

const Level kEight{8, BytesPerSecond(1e10)};
const Level kTwoNodes{2, BytesPerSecond(1.25e9)};
const Level kSixteen{16, BytesPerSecond(1.25e9)};
const Level kFour{4, BytesPerSecond(1.25e9)};

BENCHMARK_CAPTURE(plan, vgg16_16, "profiles/pipedream/vgg16.graph.txt", {kSixteen}, false);
BENCHMARK_CAPTURE(plan, vgg16_8x2, "profiles/pipedream/vgg16.graph.txt", {kEight, kTwoNodes}, false);
BENCHMARK_CAPTURE(plan, gnmt_8x2, "profiles/pipedream/gnmt.graph.txt", {kEight, kTwoNodes}, false);
BENCHMARK_CAPTURE(plan, resnet50_16, "profiles/pipedream/resnet50.graph.txt", {kSixteen}, false);
BENCHMARK_CAPTURE(plan, resnet50_8x2, "profiles/pipedream/resnet50.graph.txt", {kEight, kTwoNodes}, false);
BENCHMARK_CAPTURE(plan, inception_merged_4_straight, "reference/pipedream/inception_v3.compressed.graph.txt", {kFour},
                  true);
BENCHMARK_CAPTURE(plan, inception_merged_16, "reference/pipedream/inception_v3.compressed.graph.txt", {kSixteen},
                  false);

}  // namespace

BENCHMARK_MAIN();
