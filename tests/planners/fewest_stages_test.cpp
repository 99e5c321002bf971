#include "planners/shared/cuts/fewest_stages.hpp"

#include "planners/shared/costs/crossings.hpp"
#include "tests/planners/memory_chains.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <vector>

namespace stagecraft::fewest_stages_test {

using namespace stagecraft::testing;

namespace {

/// Few large tensors among small ones, so that not every end before one that fits does, too.
MemoryProblem drawn_problem(std::mt19937& random) {
  std::vector<LayerNumbers> layers(1 + random() % 40);
  for (LayerNumbers& layer : layers) {
    layer = {1.0, 1.0, static_cast<std::int64_t>(random() % 6),
             static_cast<std::int64_t>(random() % 4 == 0 ? random() % 60 : random() % 5)};
  }
  return memory_problem(1, layers, 1 + random() % 12, 20 + static_cast<std::int64_t>(random() % 300), 1000.0);
}

/// For each first layer the end of the first stage, and the number of stages, by looking at all ends.
std::vector<ChainStage> by_looking_at_all(const Chain& chain) {
  const std::size_t layers = chain.size();
  constexpr std::size_t kMany = 1000;
  std::vector<std::size_t> fewest(layers + 1, kMany);
  std::vector<std::size_t> ends(layers, 0);
  fewest[layers] = 0;
  for (std::size_t k = layers; k-- > 0;) {
    for (std::size_t l = layers; l > k; --l) {
      if (stage_memory(chain, k, l, 1) > chain.capacity() || fewest[l] + 1 >= fewest[k]) continue;
      fewest[k] = fewest[l] + 1;
      ends[k] = l;
    }
  }
  std::vector<ChainStage> stages;
  if (fewest[0] > chain.device_count()) return stages;
  for (std::size_t k = 0; k < layers; k = ends[k]) {
    stages.push_back({k, ends[k], static_cast<std::uint32_t>(stages.size())});
  }
  return stages;
}

}  // namespace

TEST_CASE("fewest_stages: the cut that fits on the fewest devices, with the longest first stages") {
  std::mt19937 random(1);
  int none = 0;
  int several = 0;
  for (int i = 0; i < 2000; ++i) {
    CAPTURE(i);
    const MemoryProblem problem = drawn_problem(random);
    const Chain chain = problem.chain();
    REQUIRE(is_plain_chain(chain.crossings()));
    const auto found = fewest_stages(chain, chain.capacity());
    CHECK(found.value_or(std::vector<ChainStage>()) == by_looking_at_all(chain));
    none += found ? 0 : 1;
    several += found && found->size() > 2 ? 1 : 0;
  }
  CHECK(none > 200);
  CHECK(several > 200);
}

TEST_CASE("StageWalk: layers that are skipped on a plain chain leave what is received as it would be") {
  std::mt19937 random(2);
  for (int i = 0; i < 100; ++i) {
    const MemoryProblem problem = drawn_problem(random);
    const Chain chain = problem.chain();
    const std::size_t end = 1 + random() % chain.size();
    StageWalk walk(chain.crossings());
    StageWalk skipping(chain.crossings());
    walk.restart(end);
    skipping.restart(end);
    skipping.prepend();
    const std::size_t begin = random() % end;
    for (std::size_t k = end; k-- > 0;) {
      walk.prepend();
      if (k > begin) continue;
      if (k == begin) {
        skipping.skip_to(begin);
      } else {
        skipping.prepend();
      }
      CHECK(skipping.received() == walk.received());
    }
  }
}

}  // namespace stagecraft::fewest_stages_test
