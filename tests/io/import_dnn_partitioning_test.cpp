// Graphs for the programs of dnn-partitioning.
#include "sim/io/import_dnn_partitioning.hpp"

#include "sim/io/model_file.hpp"

#include <doctest/doctest.h>

#include <string>

namespace stagecraft::import_dnn_partitioning_test {
namespace {

std::string node(int id, const std::string& name, double time, bool is_backward, const std::string& color,
                 double size) {
  const std::string color_class = color.empty() ? "" : R"("colorClass": )" + color + ", ";
  return R"({"id": )" + std::to_string(id) + R"(, "name": ")" + name + R"(", "supportedOnFpga": 1, "cpuLatency": 9, )" +
         R"("fpgaLatency": )" + std::to_string(time) + R"(, "isBackwardNode": )" + (is_backward ? "true" : "false") +
         ", " + color_class + R"("size": )" + std::to_string(size) + "},";
}

std::string edge(int from, int to, int size) {
  return R"({"sourceId": )" + std::to_string(from) + R"(, "destId": )" + std::to_string(to) +
         R"(, "cost": 1, "size": )" + std::to_string(size) + "},";
}

DnnPartitioningProfile import(std::string nodes, std::string edges) {
  nodes.pop_back();
  edges.pop_back();
  DnnPartitioningProfile profile =
      import_dnn_partitioning(R"({"nodes": [)" + nodes + R"(], "edges": [)" + edges + "]}", "f/two.json", 4, "A", "ms");
  CHECK(parse_model(write_model(profile.model), "again") == profile.model);
  return profile;
}

}  // namespace

// A chain of two layers, each of them a node; what a node has beyond what it sends are parameters.
TEST_CASE("import dnn-partitioning: a node and its backward are a layer") {
  const DnnPartitioningProfile profile = import(node(1, "a", 1, false, "10", 12) + node(2, "b", 2, false, "20", 7.5) +
                                                    node(3, "b'", 4, true, "20", 8) + node(4, "a'", 3, true, "10", 12),
                                                edge(1, 2, 4) + edge(3, 4, 8));
  const LayerGraph& graph = profile.model.profiles.at(0);
  CHECK(graph.name == "two");
  CHECK(graph.microbatch_size == 4);
  REQUIRE(graph.layers.size() == 2);
  const Layer& a = graph.layers[LayerId(0)];
  CHECK(a.name == "a");
  CHECK(a.forward == Seconds(1e-3));
  CHECK(a.backward == Seconds(3e-3));
  CHECK(a.backward_weight == Seconds(1.5e-3));
  CHECK(a.parameters == Bytes(8));
  CHECK(a.stash == Bytes(4));
  CHECK(a.output == Bytes(4));
  const Layer& b = graph.layers[LayerId(1)];
  CHECK(b.backward == Seconds(4e-3));
  CHECK(b.parameters == Bytes(0));
  CHECK(b.stash == Bytes(8));  // nobody says what part of it is parameters
  CHECK(b.checkpoint == Bytes(4));
  CHECK(graph.edges == std::vector<LayerEdge>{{LayerId(0), LayerId(1), Bytes(4)}});
  CHECK(profile.has_backwards);
  CHECK(profile.without_parts == 1);
}

// Weights w1 and w2 are nodes of the classes of the operators that use them. The loss and the sum of gradients are
// backward nodes without a class: the sum is read by the backward of `one`, and the loss by that of `two`.
TEST_CASE(
    "import dnn-partitioning: a class of operators is a layer, and backward nodes of none go with their readers") {
  const DnnPartitioningProfile profile = import(
      node(1, "w1", 0, false, "1", 100) + node(2, "one", 5, false, "1", 10) + node(3, "scale", 1, false, "1", 6) +
          node(4, "w2", 0, false, "2", 50) + node(5, "two", 2, false, "2", 20) + node(6, "loss", 0.5, true, "", 1) +
          node(7, "two'", 4, true, "2", 20) + node(8, "sum", 0.25, true, "", 10) + node(9, "one'", 10, true, "1", 10) +
          node(10, "after", 0.125, true, "3", 10),
      edge(1, 2, 100) + edge(2, 3, 10) + edge(2, 5, 10) + edge(3, 5, 6) + edge(4, 5, 50) + edge(5, 6, 20) +
          edge(6, 7, 1) + edge(7, 8, 20) + edge(2, 8, 10) + edge(8, 9, 10) + edge(9, 10, 10));
  const LayerGraph& graph = profile.model.profiles.at(0);
  REQUIRE(graph.layers.size() == 2);
  const Layer& one = graph.layers[LayerId(0)];
  CHECK(one.name == "one");
  CHECK(one.forward.value() == doctest::Approx(6e-3));
  CHECK(one.backward.value() == doctest::Approx(10.375e-3));
  CHECK(one.parameters == Bytes(100));
  CHECK(one.stash == Bytes(16));
  CHECK(one.output == Bytes(16));
  const Layer& two = graph.layers[LayerId(1)];
  CHECK(two.backward.value() == doctest::Approx(4.5e-3));
  CHECK(two.parameters == Bytes(50));
  CHECK(two.output == Bytes(0));
  CHECK(graph.edges == std::vector<LayerEdge>{{LayerId(0), LayerId(1), Bytes(16)}});
  CHECK(profile.without_parts == 0);
}

}  // namespace stagecraft::import_dnn_partitioning_test
