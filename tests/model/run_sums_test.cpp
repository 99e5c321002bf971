#include "sim/model/run_sums.hpp"

#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace stagecraft {
namespace {

/// Layers that keep tensors of each other at random, in a random order.
struct KeepingLayers {
  LayerGraph graph;
  std::vector<LayerId> order;
};

KeepingLayers random_keepers(unsigned seed) {
  std::mt19937 random(seed);
  KeepingLayers made;
  const std::size_t layers = 1 + random() % 9;
  for (std::size_t l = 0; l < layers; ++l) {
    Layer layer;
    layer.stash = Bytes(random() % 100);
    made.graph.layers.push_back(layer);
    made.order.emplace_back(l);
  }
  const std::size_t tensors = random() % 8;
  for (std::uint32_t t = 0; t < tensors; ++t) {
    made.graph.tensors.push_back({LayerId(random() % layers), Bytes(random() % 1000)});
    for (Layer& layer : made.graph.layers) {
      if (random() % 3 != 0) continue;
      layer.keeps.push_back(t);
      layer.stash += made.graph.tensors.back().bytes;
    }
  }
  std::ranges::shuffle(made.order, random);
  return made;
}

/// What belongs to the layers alone, and a set of tensors.
Bytes counted(const LayerGraph& graph, const std::vector<LayerId>& layers) {
  Bytes sum;
  std::set<std::uint32_t> kept;
  for (const LayerId id : layers) {
    sum += graph.layers[id].stash;
    for (const std::uint32_t tensor : graph.layers[id].keeps) sum -= graph.tensors[tensor].bytes;
    kept.insert(graph.layers[id].keeps.begin(), graph.layers[id].keeps.end());
  }
  for (const std::uint32_t tensor : kept) sum += graph.tensors[tensor].bytes;
  return sum;
}

/// The parameters of the layers, of which tied ones count once.
Bytes counted_parameters(const LayerGraph& graph, const std::vector<LayerId>& layers) {
  Bytes sum;
  for (const LayerId id : layers) sum += graph.layers[id].parameters;
  for (const TiedParameters& tied : graph.tied) {
    bool is_counted = false;
    for (const LayerId id : layers) {
      if (std::ranges::find(tied.layers, id) == tied.layers.end()) continue;
      if (is_counted) sum -= tied.bytes;
      is_counted = true;
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("parameters: every run of every order counts tied ones once") {
  for (unsigned seed = 1; seed <= testing::random_cases(400U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    auto [graph, order] = random_keepers(seed);
    for (unsigned group = random() % 4; group > 0; --group) {
      TiedParameters tied{{}, Bytes(1 + random() % 1000)};
      for (const LayerId id : indices(graph.layers)) {
        if (random() % 2 == 0) continue;
        tied.layers.push_back(id);
        graph.layers[id].parameters += tied.bytes;
      }
      if (tied.layers.size() > 1) graph.tied.push_back(tied);
    }
    const RunSums sums = parameter_sums(graph, order);
    CHECK(sums(0, order.size()) == totals(graph).parameters);
    for (std::size_t begin = 0; begin <= order.size(); ++begin) {
      for (std::size_t end = begin; end <= order.size(); ++end) {
        const std::vector<LayerId> run(order.begin() + static_cast<std::ptrdiff_t>(begin),
                                       order.begin() + static_cast<std::ptrdiff_t>(end));
        CHECK(sums(begin, end) == counted_parameters(graph, run));
        CHECK(parameters_of(graph, run) == counted_parameters(graph, run));
      }
    }
  }
}

TEST_CASE("stash: every run of every order counts each tensor once") {
  for (unsigned seed = 1; seed <= testing::random_cases(400U); ++seed) {
    CAPTURE(seed);
    const auto [graph, order] = random_keepers(seed);
    const RunSums sums = stash_sums(graph, order);
    for (std::size_t begin = 0; begin <= order.size(); ++begin) {
      for (std::size_t end = begin; end <= order.size(); ++end) {
        const std::vector<LayerId> run(order.begin() + static_cast<std::ptrdiff_t>(begin),
                                       order.begin() + static_cast<std::ptrdiff_t>(end));
        CHECK(sums(begin, end) == counted(graph, run));
        CHECK(stash_of(graph, run) == counted(graph, run));
      }
    }
  }
}

}  // namespace stagecraft
