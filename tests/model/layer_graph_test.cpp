#include "sim/model/layer_graph.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;

namespace {

/// Two layers at `size` samples per microbatch; every scalable number is a multiple of `unit`.
LayerGraph profile(std::int64_t size, std::int64_t unit) {
  LayerGraph graph;
  graph.microbatch_size = size;
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
  const ScaledProfile half = at_microbatch_size(model, 2);
  CHECK(half.basis == Basis::Extrapolated);
  CHECK(half.graph == profile(2, 4));
  CHECK(at_microbatch_size(model, 12).graph == profile(12, 24));
  CHECK(at_microbatch_size(model, 4).graph == profile(4, 8));
}

TEST_CASE("layer graph: bytes of a scaled profile are rounded up") {
  const LayerGraph third = at_microbatch_size(Model{{profile(3, 1)}, {}, {}}, 1).graph;
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
  const auto unit = [&](std::int64_t size) { return at_microbatch_size(model, size).graph.layers[LayerId(0)].forward; };
  CHECK(unit(3) == Seconds(12));
  CHECK(unit(6) == Seconds(27));
  CHECK(unit(8) == Seconds(40));
  CHECK(unit(1) == Seconds(8));    // back along the first piece
  CHECK(unit(12) == Seconds(66));  // on along the last piece: 40 + 4 * 6.5
  CHECK(at_microbatch_size(model, 3).basis == Basis::Interpolated);
  CHECK(at_microbatch_size(model, 8).basis == Basis::Given);
  CHECK(at_microbatch_size(model, 1).basis == Basis::Extrapolated);
  CHECK(at_microbatch_size(model, 12).basis == Basis::Extrapolated);
  CHECK(at_microbatch_size(model, 3).graph.own_times != nullptr);
  CHECK(at_microbatch_size(model, 12).graph.microbatch_size == 12);
  CHECK(at_microbatch_size(model, 12).graph.layers[LayerId(1)].parameters == Bytes(1000));
}

TEST_CASE("layer graph: a falling line ends at zero") {
  Model model{{profile(2, 10), profile(4, 4)}, {}, {}};
  const LayerGraph far = at_microbatch_size(model, 8).graph;  // 4 - 2 * 6 < 0
  CHECK(far.layers[LayerId(0)].forward == Seconds(0));
  CHECK(far.layers[LayerId(0)].stash == Bytes(0));
  CHECK(far.edges[0].bytes == Bytes(0));
}

TEST_CASE("layer graph: shares of a whole stay within it beyond the measured sizes") {
  Model model{{profile(2, 10), profile(4, 20)}, {}, {}};
  Layer& layer = model.profiles[1].layers[LayerId(0)];
  layer.backward_weight = layer.backward;  // 15 of 20, then 40 of 40: on at 8, 90 of 80
  layer.checkpoint = layer.stash;          // 10 of 70, then 140 of 140: on at 8, 400 of 280
  const Layer far = at_microbatch_size(model, 8).graph.layers[LayerId(0)];
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

TEST_CASE("layer graph: totals") {
  const LayerTotals sum = totals(profile(1, 2));
  CHECK(sum.forward == Seconds(4));
  CHECK(sum.backward == Seconds(8));
  CHECK(sum.parameters == Bytes(2000));
  CHECK(sum.stash == Bytes(28));
}
