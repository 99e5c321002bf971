#include "sim/model/profile_noise.hpp"

#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <set>
#include <vector>

using namespace stagecraft;

namespace {

/// Layers of 1 s forward and 2 s backward, half of which is for the weights.
LayerGraph even_chain(std::size_t layers) { return testing::chain(std::vector<double>(layers, 1.0)); }

LayerGraph noisy(const LayerGraph& graph, const ProfileNoise& noise) {
  return with_time_factors(graph, profile_noise(graph.layers.size(), noise));
}

}  // namespace

TEST_CASE("profile noise: without a deviation the profile stays what it is") {
  const LayerGraph graph = even_chain(7);
  CHECK(noisy(graph, {0.0, 5}) == graph);
}

// 4000 draws: the mean of their logarithms is within five standard errors, sigma / sqrt(4000), of 0.
TEST_CASE("profile noise: each time has a factor of its own, with median 1 and the deviation that was asked for") {
  const LayerGraph graph = noisy(even_chain(2000), {0.1, 3});
  double sum = 0.0;
  double squares = 0.0;
  std::set<double> factors;
  for (const Layer& layer : graph.layers) {
    for (const double factor : {layer.forward.value(), layer.backward.value() / 2}) {
      factors.insert(factor);
      sum += std::log(factor);
      squares += std::log(factor) * std::log(factor);
    }
  }
  CHECK(factors.size() == 4000);
  CHECK(std::abs(sum / 4000) < 5 * 0.1 / std::sqrt(4000.0));
  CHECK(std::sqrt(squares / 4000) == doctest::Approx(0.1).epsilon(0.06));
}

TEST_CASE("profile noise: the weights keep their share of the backward, and sizes stay") {
  const LayerGraph graph = even_chain(20);
  LayerGraph off = noisy(graph, {0.2, 1});
  for (std::size_t l = 0; l < 20; ++l) {
    Layer& layer = off.layers[LayerId(l)];
    CHECK(layer.backward_weight.value() == doctest::Approx(layer.backward.value() / 2).epsilon(1e-12));
    layer.forward = graph.layers[LayerId(l)].forward;
    layer.backward = graph.layers[LayerId(l)].backward;
    layer.backward_weight = graph.layers[LayerId(l)].backward_weight;
  }
  CHECK(off == graph);
}

TEST_CASE("profile noise: one seed errs the same way at every size of the error, another seed another way") {
  const LayerGraph graph = even_chain(20);
  const LayerGraph little = noisy(graph, {0.05, 9});
  const LayerGraph much = noisy(graph, {0.2, 9});
  for (std::size_t l = 0; l < 20; ++l) {
    const double z = std::log(little.layers[LayerId(l)].forward.value()) / 0.05;
    CHECK(std::log(much.layers[LayerId(l)].forward.value()) == doctest::Approx(0.2 * z).epsilon(1e-9));
  }
  CHECK(noisy(graph, {0.05, 9}) == little);
  CHECK(noisy(graph, {0.05, 10}) != little);
}
