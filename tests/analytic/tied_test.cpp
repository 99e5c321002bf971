// Random plans of models with tied parameters: bounds and the ledger against runs.

#include "tests/analytic/bound_and_peaks.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <random>

namespace stagecraft {
namespace {

/// Gives random layers parameters in common. Returns whether there are any.
bool tie_layers(std::uint32_t seed, LayerGraph& graph) {
  std::mt19937 random(seed);
  for (std::uint32_t group = 1 + random() % 3; group > 0; --group) {
    TiedParameters tied{{}, Bytes(1 + random() % 1000)};
    for (const LayerId id : indices(graph.layers)) {
      if (random() % 3 == 0) tied.layers.push_back(id);
    }
    if (tied.layers.size() < 2) continue;
    for (const LayerId id : tied.layers) graph.layers[id].parameters += tied.bytes;
    graph.tied.push_back(tied);
  }
  return !graph.tied.empty();
}

}  // namespace

TEST_CASE("tied: no run of a random plan is below its bound, and peaks follow from the orders") {
  int compared = 0;
  for (std::uint32_t seed = 1; seed <= testing::random_cases(200U); ++seed) {
    CAPTURE(seed);
    testing::RandomCase random = testing::random_case(seed);
    if (!tie_layers(seed, random.graph)) continue;
    if (testing::check_bound_and_peaks(random)) ++compared;
  }
  CHECK(compared > testing::random_cases(60));
}

}  // namespace stagecraft
