#include "sim/model/layer_graph.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;

namespace {

/// Two layers at `size` samples per microbatch; every scalable number is a multiple of `unit`.
LayerGraph profile(std::int64_t size, std::int64_t unit) {
  LayerGraph graph;
  graph.microbatch_size = size;
  graph.origin = Origin::Measured;
  graph.input = Bytes(3 * unit);
  Layer layer;
  layer.forward = Seconds(static_cast<double>(unit));
  layer.backward = Seconds(2.0 * static_cast<double>(unit));
  layer.backward_weight = Seconds(1.5 * static_cast<double>(unit));
  layer.parameters = Bytes(1000);
  layer.output = Bytes(5 * unit);
  layer.stash = Bytes(7 * unit);
  layer.checkpoint = Bytes(unit);
  layer.workspace = Bytes(unit);
  layer.name = "a";
  graph.layers.push_back(layer);
  layer.name = "b";
  graph.layers.push_back(layer);
  graph.edges.push_back({LayerId(0), LayerId(1), Bytes(5 * unit)});
  return graph;
}

}  // namespace

TEST_CASE("layer graph: one measured size scales in proportion, parameters excepted") {
  const Model model{{profile(4, 8)}, {}, {}};
  const LayerGraph half = at_microbatch_size(model, 2);
  CHECK(half.origin == Origin::Extrapolated);
  const auto extrapolated = [](LayerGraph graph) {
    graph.origin = Origin::Extrapolated;
    return graph;
  };
  CHECK(half == extrapolated(profile(2, 4)));
  CHECK(at_microbatch_size(model, 12) == extrapolated(profile(12, 24)));
  CHECK(at_microbatch_size(model, 4) == profile(4, 8));
}

TEST_CASE("layer graph: bytes of a scaled profile are rounded up") {
  const LayerGraph third = at_microbatch_size(Model{{profile(3, 1)}, {}, {}}, 1);
  CHECK(third.input == Bytes(1));
  const Layer& layer = third.layers[LayerId(0)];
  CHECK(layer.output == Bytes(2));  // 5 / 3
  CHECK(layer.stash == Bytes(3));   // 7 / 3
  CHECK(layer.checkpoint == Bytes(1));
  CHECK(third.edges[0].bytes == Bytes(2));
  CHECK(layer.forward.value() == doctest::Approx(1.0 / 3));
}

TEST_CASE("layer graph: several measured sizes are interpolated, and outside of them it says so") {
  // unit: 10 at 2, 14 at 4, 40 at 8
  const Model model{{profile(2, 10), profile(4, 14), profile(8, 40)}, {}, {}};
  const auto unit = [&](std::int64_t size) { return at_microbatch_size(model, size).layers[LayerId(0)].forward; };
  CHECK(unit(3) == Seconds(12));
  CHECK(unit(6) == Seconds(27));
  CHECK(unit(8) == Seconds(40));
  CHECK(unit(1) == Seconds(8));    // back along the first piece
  CHECK(unit(12) == Seconds(66));  // on along the last piece: 40 + 4 * 6.5
  CHECK(at_microbatch_size(model, 3).origin == Origin::Interpolated);
  CHECK(at_microbatch_size(model, 8).origin == Origin::Measured);
  CHECK(at_microbatch_size(model, 1).origin == Origin::Extrapolated);
  CHECK(at_microbatch_size(model, 12).origin == Origin::Extrapolated);
  CHECK(at_microbatch_size(model, 3).own_times != nullptr);
  CHECK(at_microbatch_size(model, 12).microbatch_size == 12);
  CHECK(at_microbatch_size(model, 12).layers[LayerId(1)].parameters == Bytes(1000));
}

TEST_CASE("layer graph: a falling line ends at zero") {
  Model model{{profile(2, 10), profile(4, 4)}, {}, {}};
  const LayerGraph far = at_microbatch_size(model, 8);  // 4 - 2 * 6 < 0
  CHECK(far.layers[LayerId(0)].forward == Seconds(0));
  CHECK(far.layers[LayerId(0)].stash == Bytes(0));
  CHECK(far.edges[0].bytes == Bytes(0));
}

TEST_CASE("layer graph: shares of a whole stay within it beyond the measured sizes") {
  Model model{{profile(2, 10), profile(4, 20)}, {}, {}};
  Layer& layer = model.profiles[1].layers[LayerId(0)];
  layer.backward_weight = layer.backward;  // 15 of 20, then 40 of 40: on at 8, 90 of 80
  layer.checkpoint = layer.stash;          // 10 of 70, then 140 of 140: on at 8, 400 of 280
  const Layer far = at_microbatch_size(model, 8).layers[LayerId(0)];
  CHECK(far.backward == Seconds(80));
  CHECK(far.backward_weight == Seconds(80));
  CHECK(far.checkpoint == far.stash);
}

TEST_CASE("layer graph: what is not given of the memory is the bytes of the inputs") {
  LayerGraph graph = profile(1, 1);
  graph.layers.push_back(graph.layers[LayerId(0)]);
  graph.edges.push_back({LayerId(0), LayerId(2), Bytes(20)});
  graph.edges.push_back({LayerId(1), LayerId(2), Bytes(30)});
  for (Layer& layer : graph.layers) layer.stash = layer.checkpoint = Bytes(-1);
  graph.layers[LayerId(1)].stash = Bytes(2);  // less than its input: the checkpoint is not more
  apply_memory_defaults(graph);
  CHECK(graph.layers[LayerId(0)].stash == Bytes(3));  // the graph's input
  CHECK(graph.layers[LayerId(0)].checkpoint == Bytes(3));
  CHECK(graph.layers[LayerId(1)].stash == Bytes(2));
  CHECK(graph.layers[LayerId(1)].checkpoint == Bytes(2));
  CHECK(graph.layers[LayerId(2)].stash == Bytes(50));
}

TEST_CASE("layer graph: with the convention of inputs a layer keeps the bytes of its inputs and has no workspace") {
  LayerGraph graph = profile(1, 1);
  graph.layers.push_back(graph.layers[LayerId(0)]);
  graph.edges = {{LayerId(0), LayerId(1), Bytes(20)}, {LayerId(0), LayerId(2), Bytes(5)}};
  graph.edges.push_back({LayerId(1), LayerId(2), Bytes(30)});
  for (Layer& layer : graph.layers) layer.workspace = Bytes(7);
  CHECK(with_stash(graph, StashConvention::Autograd) == graph);
  const LayerGraph inputs = with_stash(graph, StashConvention::Input);
  const std::vector<Bytes> expected = {Bytes(3), Bytes(20), Bytes(35)};
  for (const LayerId id : indices(inputs.layers)) {
    CHECK(inputs.layers[id].stash == expected[id.value()]);
    CHECK(inputs.layers[id].checkpoint == expected[id.value()]);
    CHECK(inputs.layers[id].workspace == Bytes(0));
    CHECK(inputs.layers[id].parameters == graph.layers[id].parameters);
  }
}

TEST_CASE("layer graph: totals") {
  const LayerTotals sum = totals(profile(1, 2));
  CHECK(sum.forward == Seconds(4));
  CHECK(sum.backward == Seconds(8));
  CHECK(sum.parameters == Bytes(2000));
  CHECK(sum.stash == Bytes(28));
}
