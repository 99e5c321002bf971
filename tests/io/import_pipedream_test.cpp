#include "sim/io/import_pipedream.hpp"

#include "sim/io/model_file.hpp"
#include "sim/io/text_file.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace stagecraft::import_pipedream_test {

namespace {

const std::filesystem::path kProfiles = std::filesystem::path(STAGECRAFT_SHARED_DIR) / "profiles";

bool shared_is_absent() {
  if (std::filesystem::exists(kProfiles)) return false;
  MESSAGE("skipped: no measured profiles in " << kProfiles.string());
  return true;
}

LayerGraph import(const std::string& folder, const std::string& file) {
  const std::string path = (kProfiles / folder / file).string();
  const Model model = import_pipedream(read_text_file(path), path, 128, "V100");
  CHECK(parse_model(write_model(model), "again") == model);
  return model.profiles.at(0);
}

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(import_pipedream(text, "g.txt", 1, "V100"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no refusal";
}

constexpr const char* kFigures =
    "forward_compute_time=1, backward_compute_time=2.5, activation_size=8, parameter_size=4";

}  // namespace

TEST_CASE("import pipedream: times are milliseconds, lists of activations are summed") {
  const Model model = import_pipedream(
      "node1 -- Input0 -- forward_compute_time=9.000, backward_compute_time=0.000, activation_size=5.0, "
      "parameter_size=0.000\n"
      "node3 -- LSTM(1, 2) -- forward_compute_time=1.500, backward_compute_time=41.300, activation_size=[8.0; 4.0; "
      "2.0], parameter_size=100.000 -- stage_id=2\n"
      "node2 -- Linear -- forward_compute_time=1, backward_compute_time=2, activation_size=6, parameter_size=7  \r\n"
      "node4 -- __getitem__(0) -- forward_compute_time=0, backward_compute_time=0, activation_size=8, "
      "parameter_size=0\n"
      "node5 -- __getitem__(1) -- forward_compute_time=0, backward_compute_time=0, activation_size=8, "
      "parameter_size=0\n"
      "\n"
      "\tnode1 -- node3\n"
      "   node3 -- node2\n"
      "\tnode3 -- node4\n"
      "\tnode4 -- node5\n",
      "folder/toy.graph.txt", 64, "V100");
  const LayerGraph& graph = model.profiles.at(0);
  CHECK(graph.name == "toy");
  CHECK(graph.device_kind == "V100");
  CHECK(graph.microbatch_size == 64);
  REQUIRE(graph.layers.size() == 3);  // the input is gone, and of the two __getitem__ the one that is a sink
  const Layer& lstm = graph.layers[LayerId(0)];
  CHECK(lstm.name == "node3");
  CHECK(lstm.forward == Seconds(0.0015));
  CHECK(lstm.backward == Seconds(0.0413));
  CHECK(lstm.backward_weight == Seconds(0.02065));
  CHECK(lstm.output == Bytes(14));
  CHECK(lstm.stash == Bytes(14));
  CHECK(lstm.checkpoint == Bytes(0));
  CHECK(lstm.parameters == Bytes(100));
  CHECK(graph.layers[LayerId(1)].name == "node2");
  CHECK(graph.layers[LayerId(1)].checkpoint == Bytes(6));
  CHECK(graph.layers[LayerId(2)].name == "node4");
  REQUIRE(graph.edges.size() == 2);
  CHECK(graph.edges[0] == LayerEdge{LayerId(0), LayerId(1), Bytes(14)});
}

TEST_CASE("import pipedream: refusals name the line and the column") {
  const std::string figures = kFigures;
  CHECK(refusal("") == "g.txt: expected at least one layer, found none");
  CHECK(refusal("node1 -- x\n") == "g.txt:1:1: expected 'node -- description -- figures', found 'node1 -- x'");
  CHECK(refusal("a -- x -- " + figures + "\na -- y -- " + figures) == "g.txt:2:1: the node 'a' is given twice");
  CHECK(refusal("a -- x -- " + figures + "\n\ta -- b\n") == "g.txt:2:7: unknown node 'b' (known: a)");
  CHECK(refusal("a -- x -- " + figures + "\n\ta -- a\n") == "g.txt:2:2: the node 'a' feeds itself");
  CHECK(refusal("a -- x -- " + figures + "\nb -- x -- " + figures + "\n\ta -- b\n\tb -- a\n") ==
        "g.txt: the edges form a cycle: a -> b -> a");
  CHECK(refusal("a -- x -- " + figures + "\nb -- x -- " + figures + "\n\ta -- b\n\ta -- b\n") ==
        "g.txt:4:2: the edge 'a -- b' is given twice");
  CHECK(refusal("a -- x -- forward_compute_time=-1\n") ==
        "g.txt:1:32: expected a bare number of at least 0, such as '1.5', found '-1' (negative values are not "
        "allowed)");
  CHECK(refusal("a -- x -- forward_compute_tim=1\n")
            .starts_with("g.txt:1:11: unknown key 'forward_compute_tim' (did you mean 'forward_compute_time'?"));
  CHECK(refusal("a -- x -- forward_compute_time\n") == "g.txt:1:11: expected key=value, found 'forward_compute_time'");
  CHECK(refusal("a -- x -- forward_compute_time=1, forward_compute_time=1\n") ==
        "g.txt:1:35: the key 'forward_compute_time' is given twice");
  CHECK(refusal("a -- x -- forward_compute_time=1\n") ==
        "g.txt:1:11: expected two times and two sizes, found 'forward_compute_time=1'");
  CHECK(refusal("a -- x -- forward_compute_time=1, backward_compute_time=2, activation_size=[1; x]\n")
            .starts_with("g.txt:1:80: expected a bare number"));
  CHECK(refusal(std::string("a\0b", 3)) == "g.txt:1:2: expected a text file in UTF-8, found the byte 0x00");
}

TEST_CASE("import pipedream: the totals of all real profiles") {
  if (shared_is_absent()) return;
  // shared/specs/pipedream.md, section 1: sums without the Input nodes, rounded as printed there. Nodes after removal:
  // section 2 for four of them.
  struct Expected {
    const char* model;
    std::size_t layers;  // 0: not stated
    double forward_ms;
    double backward_ms;
    double parameters_mb;
  };
  for (const Expected& expected : {Expected{"alexnet", 22, 44.801, 40.520, 244.4},
                                   {"vgg16", 40, 233.902, 438.633, 553.4},
                                   {"resnet18", 0, 107.446, 152.296, 46.8},
                                   {"resnet50", 176, 182.488, 260.931, 102.2},
                                   {"resnet101", 0, 197.306, 213.786, 178.2},
                                   {"resnext50", 0, 221.803, 368.990, 100.1},
                                   {"resnext101", 0, 239.122, 318.310, 176.7},
                                   {"densenet121", 0, 177.404, 148.751, 31.9},
                                   {"squeezenet1_0", 0, 113.247, 172.119, 5.0},
                                   {"inception_v3", 0, 289.269, 399.769, 108.6},
                                   {"nasnetamobile", 0, 322.921, 261.363, 34.3},
                                   {"nasnetalarge", 0, 409.087, 249.210, 369.0},
                                   {"gnmt", 37, 33.533, 55.883, 775.1},
                                   {"gnmt_large", 0, 182.563, 337.890, 1110.9}}) {
    CAPTURE(expected.model);
    const LayerGraph graph = import("pipedream", std::string(expected.model) + ".graph.txt");
    CHECK(graph.name == expected.model);
    if (expected.layers > 0) CHECK(graph.layers.size() == expected.layers);
    const LayerTotals sum = totals(graph);
    CHECK(std::abs(sum.forward.value() * 1e3 - expected.forward_ms) < 6e-4);
    CHECK(std::abs(sum.backward.value() * 1e3 - expected.backward_ms) < 6e-4);
    CHECK(std::abs(static_cast<double>(sum.parameters.value()) / 1e6 - expected.parameters_mb) < 0.06);
  }
}

TEST_CASE("import pipedream: DAPPLE's profiles, with edges indented by blanks and lists in brackets") {
  if (shared_is_absent()) return;
  // shared/specs/peers.md, section 1.1: nodes and edges of the file, parameters in MB. None of these has a sink that is
  // dropped; the second figure counts the Input sources that are.
  struct Expected {
    const char* file;
    std::size_t nodes;
    double parameters_mb;
  };
  for (const Expected& expected : {Expected{"amoeba-36-pbs-1", 44, 3731.1},
                                   {"bert-24-pbs-6", 29, 1340.6},
                                   {"bert-48-pbs-2", 53, 2549.8},
                                   {"gnmt-32-pbs-64-simplified", 67, 1834.6},
                                   {"vgg-19-pbs-32", 26, 548.0},
                                   {"xlnet-24-pbs-1", 31, 1379.0}}) {
    CAPTURE(expected.file);
    const LayerGraph graph = import("dapple", std::string(expected.file) + ".txt");
    CHECK(graph.layers.size() <= expected.nodes);
    CHECK(graph.layers.size() + 4 >= expected.nodes);
    CHECK(std::abs(static_cast<double>(totals(graph).parameters.value()) / 1e6 - expected.parameters_mb) < 0.06);
  }
}

}  // namespace stagecraft::import_pipedream_test
