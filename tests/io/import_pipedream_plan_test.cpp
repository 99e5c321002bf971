#include "sim/io/import_pipedream_plan.hpp"

#include "sim/base/error.hpp"
#include "sim/io/import_pipedream.hpp"
#include "sim/io/pipedream_conf.hpp"
#include "sim/io/pipedream_graph.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft::import_pipedream_plan_test {
namespace {

using testing::pairwise;
using Stages = std::vector<std::vector<std::string>>;

std::string node_line(const std::string& name, const std::string& description, const std::string& stage) {
  return name + " -- " + description +
         " -- forward_compute_time=1, backward_compute_time=2, activation_size=8, parameter_size=4" +
         (stage.empty() ? "" : " -- stage_id=" + stage) + "\n";
}

/// A chain of nodes a, b, … on these stages.
PipedreamGraph chain_on(const std::vector<std::string>& stages) {
  std::string text;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    text += node_line(std::string(1, static_cast<char>('a' + i)), "Linear", stages[i]);
  }
  for (std::size_t i = 1; i < stages.size(); ++i) {
    const char to = static_cast<char>('a' + i);
    text += std::string("\t") + static_cast<char>(to - 1) + " -- " + to + "\n";
  }
  return parse_pipedream_graph(text, "g.txt");
}

LayerGraph model_of(const PipedreamGraph& graph) { return import_pipedream(graph, 1, "A").profiles.at(0); }

PipedreamConf conf_of(const std::string& modules, const std::string& ranks) {
  return parse_pipedream_conf(R"({"module_to_stage_map": )" + modules + R"(, "stage_to_rank_map": )" + ranks + "}",
                              "c.json");
}

Stages layers_of(const std::vector<Stage>& stages, const LayerGraph& graph) {
  Stages names;
  for (const Stage& stage : stages) {
    names.emplace_back();
    for (LayerId layer : stage.layers) names.back().push_back(graph.layers[layer].name);
  }
  return names;
}

/// The names of the layers by stage.
Stages stages_of(const PipedreamGraph& graph, const std::optional<PipedreamConf>& conf = {}) {
  const LayerGraph model = model_of(graph);
  return layers_of(pipedream_stages(graph, conf, model, pairwise(8)), model);
}

std::string refusal(const PipedreamGraph& graph, const std::optional<PipedreamConf>& conf, const LayerGraph& model) {
  try {
    static_cast<void>(pipedream_stages(graph, conf, model, pairwise(2)));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no refusal";
}

TEST_CASE("pipedream plan: a stage has the layers of its nodes, in canonical order, and one device") {
  // PipeDream writes the nodes in any order, for example that of a Python 2 dictionary.
  const PipedreamGraph graph = parse_pipedream_graph(node_line("c", "ReLU", "1") + node_line("b", "Linear", "0") +
                                                         node_line("a", "Linear", "0") + "\tb -- c\n\ta -- b\n",
                                                     "g.txt");
  const LayerGraph model = model_of(graph);
  const std::vector<Stage> stages = pipedream_stages(graph, {}, model, pairwise(2));
  CHECK(layers_of(stages, model) == Stages{{"a", "b"}, {"c"}});
  CHECK(stages[0].replicas == groups_of_one({DeviceId(0)}));
  CHECK(stages[1].replicas == groups_of_one({DeviceId(1)}));
}

TEST_CASE("pipedream plan: rank r is device r, and the replicas keep the order of the ranks") {
  const PipedreamGraph graph = chain_on({"0", "0", "1"});
  const PipedreamConf conf = conf_of("[0, 1, 1]", R"({"1": [5], "0": [3, 0, 4]})");
  const std::vector<Stage> stages = pipedream_stages(graph, conf, model_of(graph), pairwise(6));
  CHECK(stages[0].replicas == groups_of_one({DeviceId(3), DeviceId(0), DeviceId(4)}));
  CHECK(stages[1].replicas == groups_of_one({DeviceId(5)}));
}

TEST_CASE("pipedream plan: inputs and results that nobody uses are no layers and need no stage") {
  const PipedreamGraph graph = parse_pipedream_graph(
      node_line("in0", "Input0", "") + node_line("in1", "Input1", "0") + node_line("a", "LSTM", "0") +
          node_line("b", "__getitem__(0)", "1") + node_line("unused", "__getitem__(1)", "") +
          "\tin0 -- a\n\tin1 -- b\n\ta -- b\n\ta -- unused\n\tb -- c\n" + node_line("c", "Linear", "1"),
      "g.txt");
  CHECK(stages_of(graph) == Stages{{"a"}, {"b", "c"}});
}

TEST_CASE("pipedream plan: what follows the stage of a node is ignored") {
  const std::string figures = "forward_compute_time=1, backward_compute_time=2, activation_size=8, parameter_size=4";
  const PipedreamGraph graph =
      parse_pipedream_graph("a -- Linear -- " + figures + " -- stage_id=0 -- depth=3\n", "g.txt");
  CHECK(graph.nodes.at(0).stage == 0);
  CHECK(stages_of(graph) == Stages{{"a"}});
}

// The optimizer makes one module of each stage of the graph, and adds the loss. With dp_conf.json all are on one stage.
TEST_CASE("pipedream plan: with a module for each stage of the graph, the configuration puts them together") {
  const PipedreamGraph graph = chain_on({"0", "1", "2", "3"});
  CHECK(stages_of(graph, conf_of("[0, 0, 1, 1, 1]", R"({"0": [0], "1": [1]})")) == Stages{{"a", "b"}, {"c", "d"}});
  CHECK(stages_of(graph, conf_of("[0, 0, 0, 0, 0]", R"({"0": [0, 1, 2]})")) == Stages{{"a", "b", "c", "d"}});
  CHECK(stages_of(graph, conf_of("[0, 1, 2, 3, 3]", R"({"0": [0], "1": [1], "2": [2], "3": [3]})")) ==
        Stages{{"a"}, {"b"}, {"c"}, {"d"}});
}

TEST_CASE("pipedream plan: with another number of modules, the stages are those of the graph") {
  const PipedreamGraph graph = chain_on({"0", "0", "1"});
  const std::string ranks = R"({"0": [0], "1": [1]})";
  CHECK(stages_of(graph, conf_of("[0, 0, 1, 1, 1]", ranks)) == Stages{{"a", "b"}, {"c"}});  // two modules and two
  CHECK(stages_of(graph, conf_of("[0, 1, 1, 1]", ranks)) == Stages{{"a", "b"}, {"c"}});     // two losses
}

TEST_CASE("pipedream plan: an edge may skip stages, but leads to no earlier one") {
  const std::string nodes = node_line("a", "Linear", "0") + node_line("b", "Linear", "1") + node_line("c", "Add", "2");
  const std::string chain = "\ta -- b\n\tb -- c\n";
  CHECK(stages_of(parse_pipedream_graph(nodes + chain + "\ta -- c\n", "g.txt")) == Stages{{"a"}, {"b"}, {"c"}});
  const PipedreamGraph back = parse_pipedream_graph(nodes + "\tb -- c\n\tb -- a\n", "g.txt");
  CHECK(refusal(back, {}, model_of(back)) ==
        "g.txt:5:2: expected edges to the same or a later stage, found 'b' of stage 1, which feeds 'a' of stage 0");
}

TEST_CASE("pipedream plan: the nodes must be the layers of the model") {
  const PipedreamGraph graph = chain_on({"0", "1"});
  const LayerGraph longer = model_of(chain_on({"0", "1", "1"}));
  CHECK(refusal(graph, {}, longer)
            .starts_with("g.txt: expected a node for each layer of the model 'g', found none for 'c'"));
  CHECK(refusal(chain_on({"0", "1", "1"}), {}, model_of(graph))
            .starts_with("g.txt:3:1: the node 'c' is no layer of the model 'g'"));
}

TEST_CASE("pipedream plan: a model with other edges than the graph is refused without a line") {
  const PipedreamGraph graph = chain_on({"0", "1"});
  LayerGraph turned = model_of(graph);
  turned.edges = {{LayerId(1), LayerId(0), Bytes(8)}};
  CHECK(refusal(graph, {}, turned) ==
        "g.txt: expected edges to the same or a later stage, found 'b' of stage 1, which feeds 'a' of stage 0");
}

TEST_CASE("pipedream plan: more stages, and higher ranks, than the platform has devices") {
  const PipedreamGraph graph = chain_on({"0", "1", "2"});
  CHECK(refusal(graph, {}, model_of(graph))
            .starts_with("g.txt: the plan has 3 stages, but the platform 'pairwise' has 2 devices"));
  const PipedreamConf conf = conf_of("[0, 0, 0, 0]", R"({"0": [0, 2]})");
  CHECK(refusal(graph, conf, model_of(graph))
            .starts_with("c.json:1:70: stage_to_rank_map.0[1]: expected the number of a device, found the rank 2, but "
                         "the platform 'pairwise' has 2 devices"));
}

TEST_CASE("pipedream plan: the depths of a configuration are by stage, and null means none") {
  const std::string start = R"({"module_to_stage_map": [0, 1, 1], "stage_to_rank_map": {"0": [0], "1": [1]})";
  const auto depths = [&](const std::string& text) {
    return parse_pipedream_conf(start + R"(, "stage_to_depth_map": )" + text + "}", "c.json").depths;
  };
  CHECK(depths(R"({"1": 0, "0": 3})") == std::vector<std::int64_t>{3, 0});
  CHECK(depths("null").empty());
  CHECK(parse_pipedream_conf(start + "}", "c.json").depths.empty());
}

}  // namespace
}  // namespace stagecraft::import_pipedream_plan_test
