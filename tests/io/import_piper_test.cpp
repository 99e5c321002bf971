// Profiles for Piper's planner.
#include "sim/io/import_piper.hpp"

#include "sim/io/model_file.hpp"

#include <doctest/doctest.h>

#include <string>

namespace stagecraft::import_piper_test {
namespace {

const std::string kTwo = R"({"bandwidth": 50, "maxDevices": 2, "nodes": [
  {"id": 4, "name": "block", "TMPCs": {
    "1": [{"id": "activation recomp", "timePerSample": 5, "parameterSize": 8, "memoryUsageA": 2.5, "memoryUsageB": 18},
          {"id": "vanilla", "timePerSample": 4, "parameterSize": 8, "memoryUsageA": 100.25, "memoryUsageB": 16}],
    "2": []}},
  {"id": 7, "name": "head", "TMPCs": {
    "1": [{"id": "vanilla", "timePerSample": 1.5, "parameterSize": 3.5, "memoryUsageA": 4, "memoryUsageB": 7}]}},
  {"id": 2, "name": "loss", "TMPCs": {
    "1": [{"id": "vanilla", "timePerSample": 0, "parameterSize": 0, "memoryUsageA": 0, "memoryUsageB": 0}]}}],
 "edges": [{"sourceId": 4, "destId": 7, "communicationCost": 20}, {"sourceId": 4, "destId": 2, "communicationCost": 30},
           {"sourceId": 7, "destId": 2, "communicationCost": 5}]})";

}  // namespace

TEST_CASE("import piper: recomputation tells the forward, without it a third of the time is that") {
  const PiperProfile profile = import_piper(kTwo, "folder/two.json", 8, "A100", "ms");
  const LayerGraph& graph = profile.model.profiles.at(0);
  CHECK(graph.name == "two");
  CHECK(graph.device_kind == "A100");
  CHECK(graph.microbatch_size == 8);
  CHECK(graph.origin == Origin::Measured);
  REQUIRE(graph.layers.size() == 3);
  const Layer& block = graph.layers[LayerId(0)];
  CHECK(block.name == "block");
  CHECK(block.forward.value() == doctest::Approx(1e-3));
  CHECK(block.backward.value() == doctest::Approx(3e-3));
  CHECK(block.backward_weight.value() == doctest::Approx(1.5e-3));
  CHECK(block.parameters == Bytes(8));
  CHECK(block.stash == Bytes(101));
  CHECK(block.checkpoint == Bytes(3));
  CHECK(block.output == Bytes(30));
  const Layer& head = graph.layers[LayerId(1)];
  CHECK(head.forward.value() == doctest::Approx(0.5e-3));
  CHECK(head.backward.value() == doctest::Approx(1e-3));
  CHECK(head.parameters == Bytes(4));
  CHECK(head.checkpoint == Bytes(4));  // of its input at most its stash
  REQUIRE(graph.edges.size() == 3);
  CHECK(graph.edges[0] == LayerEdge{LayerId(0), LayerId(1), Bytes(20)});
  CHECK(profile.has_further_degrees);
  CHECK(profile.compute_per_transfer == doctest::Approx(5.5e-3 / (55.0 / 50.0)));
  CHECK(parse_model(write_model(profile.model), "again") == profile.model);
}

TEST_CASE("import piper: nodes of one name get their ids, and those without any are numbered") {
  std::string text = kTwo;
  text.replace(text.find("head"), 4, "block");
  const LayerGraph alike = import_piper(text, "f", 1, "A", "s").model.profiles.at(0);
  CHECK(alike.layers[LayerId(0)].name == "block.4");
  CHECK(alike.layers[LayerId(2)].name == "loss.2");
  text = kTwo;
  text.erase(text.find("\"name\": \"head\", "), 16);
  CHECK(import_piper(text, "f", 1, "A", "s").model.profiles.at(0).layers[LayerId(1)].name == "node7");
}

}  // namespace stagecraft::import_piper_test
