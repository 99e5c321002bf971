// The pictures of the documents are those that the program draws. With STAGECRAFT_UPDATE set they are written instead.
#include "experiments/run/written_file.hpp"
#include "tests/docs/pages.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;

/// A picture, and the options of the plan that it shows.
struct Shown {
  const char* name;
  const char* model;
  const char* platform;
  const char* planning;
};

constexpr std::array<Shown, 2> kShown{{
    {"layers", "vgg16", "dgx-1-v100",
     "--planner uniform --set stages=4 --set replicas=1 --microbatch-size 64 --microbatches 8"},
    {"quickstart", "bert-large", "pipedream-cluster-a",
     "--planner spp --global-batch 128 --training 'gradient_bucket=25 MiB'"},
}};

std::string drawn(const Shown& shown) {
  const test::Desk desk;
  const std::string inputs = " --model " + std::string(shown.model) + " --platform " + shown.platform;
  const std::string told =
      desk.output_of("stagecraft plan" + inputs + " " + shown.planning +
                     " -o plan.yaml && stagecraft simulate plan.yaml" + inputs + " --picture p.svg");
  INFO(told);
  REQUIRE(fs::exists(desk.folder / "p.svg"));
  return test::read_page(desk.folder / "p.svg");
}

}  // namespace

TEST_CASE("docs: the pictures are those that the program draws") {
  const bool updates =
      std::getenv("STAGECRAFT_UPDATE") != nullptr;  // NOLINT(concurrency-mt-unsafe): no thread writes it
  for (const Shown& shown : kShown) {
    CAPTURE(shown.name);
    const fs::path path = fs::path(STAGECRAFT_SOURCE_DIR) / "docs/pictures" / (std::string(shown.name) + ".svg");
    const std::string picture = drawn(shown);
    if (updates) write_file_atomically(path.string(), picture);
    CHECK_MESSAGE(test::read_page(path) == picture, "if this is meant, let ./check --update draw it");
  }
}

}  // namespace stagecraft
