#include "planners/pipedream/down_sets.hpp"
#include "planners/pipedream/recurrence.hpp"
#include "sim/io/import_pipedream.hpp"
#include "sim/io/text_file.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

/// Planning on part of the down-sets of the profiles that PipeDream's authors publish.
namespace stagecraft::pipedream_compress_reference_test {

using pipedream::DownSets;
using pipedream::enumerate_down_sets;
using pipedream::narrowed_down_sets;
using pipedream::Settings;

namespace {

std::optional<LayerGraph> published(const std::string& file) {
  const std::filesystem::path path = std::filesystem::path(STAGECRAFT_SHARED_DIR) / file;
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no profile at " << path.string());
    return std::nullopt;
  }
  return import_pipedream(read_text_file(path.string()), path.string(), 1, "V100").profiles.at(0);
}

std::optional<LayerGraph> profile(const std::string& model) {
  return published("profiles/pipedream/" + model + ".graph.txt");
}

double period(const DownSets& states, std::uint32_t devices, bool paper) {
  Settings settings;
  settings.levels = {{devices, BytesPerSecond(1.25e9)}};
  if (paper) {
    settings.synchronisation = pipedream::Synchronisation::Overlapped;
    settings.boundary = pipedream::BoundaryCost::Whole;
  }
  return optimize(states, settings).period;
}

}  // namespace

TEST_CASE("pipedream compress reference: one state of each size loses little where the exact answer is known") {
  double worst_of_one = 0.0;
  double worst_of_four = 0.0;
  for (const std::string model : {"gnmt", "gnmt_large", "resnet18", "resnet50", "resnet101", "resnext50", "resnext101",
                                  "densenet121", "squeezenet1_0"}) {
    CAPTURE(model);
    const std::optional<LayerGraph> graph = profile(model);
    if (!graph) return;
    const DownSets all = enumerate_down_sets(*graph, 200'000).value();
    const DownSets one = narrowed_down_sets(*graph, graph->layers.size()).value();
    const DownSets four = narrowed_down_sets(*graph, 4 * graph->layers.size()).value();
    for (const std::uint32_t devices : {4U, 8U, 16U}) {
      for (const bool paper : {false, true}) {
        CAPTURE(devices);
        CAPTURE(paper);
        const double exact = period(all, devices, paper);
        const double of_one = period(one, devices, paper) / exact - 1.0;
        const double of_four = period(four, devices, paper) / exact - 1.0;
        CHECK(of_one > -1e-12);
        CHECK(of_four > -1e-12);
        CHECK(of_one < 0.06);
        CHECK(of_four < 0.01);
        worst_of_one = std::max(worst_of_one, of_one);
        worst_of_four = std::max(worst_of_four, of_four);
        if (of_one > 1e-9) {
          MESSAGE(one.count << " and " << four.count << " of " << all.count << " states lose " << 100.0 * of_one
                            << " % and " << 100.0 * of_four << " %");
        }
      }
    }
  }
  MESSAGE("worst loss with one state of each size " << 100.0 * worst_of_one << " %, with up to four times as many "
                                                    << 100.0 * worst_of_four << " %");
}

TEST_CASE("pipedream compress reference: Inception-v3 as published, no slower than with the authors' compression") {
  const std::optional<LayerGraph> merged = published("reference/pipedream/inception_v3.compressed.graph.txt");
  const std::optional<LayerGraph> graph = profile("inception_v3");
  if (!merged || !graph) return;
  const DownSets theirs = enumerate_down_sets(*merged, 200'000).value();
  for (const std::size_t most : {std::size_t{1'646}, std::size_t{5'000}}) {
    const DownSets ours = narrowed_down_sets(*graph, most).value();
    for (const std::uint32_t devices : {4U, 8U, 16U}) {
      const double expected = period(theirs, devices, false);
      const double found = period(ours, devices, false);
      MESSAGE(devices << " devices: " << 1e3 * found << " ms on " << ours.count << " states, " << 1e3 * expected
                      << " ms with the authors' compression");
      CHECK(found <= expected * (1 + 1e-9));
    }
  }
}

TEST_CASE("pipedream compress reference: both NASNets are planned, no slower than data parallelism") {
  for (const std::string model : {"nasnetamobile", "nasnetalarge"}) {
    const std::optional<LayerGraph> graph = profile(model);
    if (!graph) return;
    const DownSets narrow = narrowed_down_sets(*graph, graph->layers.size()).value();
    const DownSets wider = narrowed_down_sets(*graph, 4 * graph->layers.size()).value();
    Settings settings;
    settings.levels = {{8, BytesPerSecond(1.25e9)}};
    const double first = period(narrow, 8, false);
    const double second = period(wider, 8, false);
    MESSAGE(model << ": " << 1e3 * first << " ms on " << narrow.count << " states, " << 1e3 * second << " ms on "
                  << wider.count);
    CHECK(second <= pipedream::data_parallel_time(wider, settings) * (1 + 1e-12));
    CHECK(first <= second * 1.1);
  }
}

}  // namespace stagecraft::pipedream_compress_reference_test
