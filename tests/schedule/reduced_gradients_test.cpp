#include "sim/model/reduced_gradients.hpp"

#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/ring_buckets.hpp"
#include "sim/schedule/tied_stages.hpp"
#include "tests/schedule/compiled.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <vector>

namespace stagecraft {
namespace {

/// What each ring of two stages with two replicas each exchanges. Three layers have 100 bytes of parameters each; the
/// first and the last have 60 of them in common, for which all replicas have a ring of their own.
std::vector<Bytes> exchanged(std::optional<OptimizerRecipe> recipe) {
  LayerGraph graph = testing::chain(3, 1, 2, 0, 0, 100);
  graph.tied = {{{LayerId(0), LayerId(2)}, Bytes(60)}};
  Plan plan = testing::straight(0, 4, "1f1b");
  plan.training.recipe = recipe;
  plan.stages.resize(2);
  plan.stages[0].layers = {LayerId(0), LayerId(1)};
  plan.stages[1].layers = {LayerId(2)};
  for (const std::size_t device : {0, 1, 2, 3}) plan.stages[device / 2].replicas.emplace_back(DeviceId(device));
  const Replicas replicas(plan);
  std::vector<Bytes> sums;
  for (const RingBuckets::Ring& ring : ring_buckets(graph, plan, replicas, tied_rings(graph, plan, replicas)).rings) {
    Bytes& sum = sums.emplace_back();
    for (const GradientBucket& bucket : ring.buckets) sum += bucket.bytes;
  }
  return sums;
}

}  // namespace

// 40 + 100 of the first stage, 40 of the second, 60 in common.
TEST_CASE("gradients: an all-reduce moves those of the weights' size, or sums in four bytes for weights of two") {
  const std::vector<Bytes> plain{Bytes(140), Bytes(40), Bytes(60)};
  const std::vector<Bytes> doubled{Bytes(280), Bytes(80), Bytes(120)};
  CHECK(exchanged({}) == plain);
  CHECK(exchanged(OptimizerRecipe::Fp32) == plain);
  CHECK(exchanged(OptimizerRecipe::SgdMomentum) == plain);
  CHECK(exchanged(OptimizerRecipe::Mixed16) == plain);
  CHECK(exchanged(OptimizerRecipe::Pure16) == plain);
  CHECK(exchanged(OptimizerRecipe::Mixed) == doubled);
  CHECK(exchanged(OptimizerRecipe::Mixed16Accumulate32) == doubled);
}

}  // namespace stagecraft
