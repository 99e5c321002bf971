#include "sim/io/import_pipedream.hpp"

#include "sim/io/model_file.hpp"
#include "sim/io/text_file.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

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

namespace {

/// What a file says of its layers, read once more and summed as it stands: milliseconds and bytes.
struct FileSums {
  double forward = 0.0;
  double backward = 0.0;
  double parameters = 0.0;
  double activations = 0.0;
};

double figure(const std::string& line, const std::string& key) {
  std::size_t at = line.find(key + "=") + key.size() + 1;
  double sum = 0.0;
  const bool is_list = line[at] == '[';
  const std::size_t end = line.find(is_list ? ']' : ',', at);
  for (at += is_list ? 1 : 0; at < end;) {
    std::size_t digits = 0;
    sum += std::stod(line.substr(at), &digits);
    at = std::min(line.find_first_not_of("; ", at + digits), end);
    if (!is_list) break;
  }
  return sum;
}

/// No node of DAPPLE's files but the inputs is dropped, unless it is one of `sinks`.
FileSums sums_of(const std::string& path, const std::vector<std::string>& sinks) {
  FileSums sums;
  std::istringstream lines(read_text_file(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == ' ' || line[0] == '\t' || line.find(" -- Input") != std::string::npos) continue;
    if (std::ranges::find(sinks, line.substr(0, line.find(" -- "))) != sinks.end()) continue;
    sums.forward += figure(line, "forward_compute_time");
    sums.backward += figure(line, "backward_compute_time");
    sums.parameters += figure(line, "parameter_size");
    sums.activations += figure(line, "activation_size");
  }
  return sums;
}

/// The nodes `__getitem__` from which no edge leaves.
std::vector<std::string> getitem_sinks(const std::string& path) {
  const std::string text = read_text_file(path);
  std::vector<std::string> sinks;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == ' ' || line[0] == '\t' || line.find(" -- __getitem__") == std::string::npos)
      continue;
    const std::string name = line.substr(0, line.find(" -- "));
    if (text.find("\t" + name + " -- ") == std::string::npos) sinks.push_back(name);
  }
  return sinks;
}

}  // namespace

TEST_CASE("import dapple: the sums of every published profile, with edges indented by blanks and lists in brackets") {
  if (shared_is_absent()) return;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kProfiles / "dapple")) {
    if (entry.path().extension() != ".txt") continue;
    CAPTURE(entry.path().filename().string());
    ++files;
    const LayerGraph graph = import("dapple", entry.path().filename().string());
    const FileSums sums = sums_of(entry.path().string(), getitem_sinks(entry.path().string()));
    const LayerTotals total = totals(graph);
    CHECK(total.forward.value() * 1e3 == doctest::Approx(sums.forward).epsilon(1e-14));
    CHECK(total.backward.value() * 1e3 == doctest::Approx(sums.backward).epsilon(1e-14));
    CHECK(static_cast<double>(total.parameters.value()) == sums.parameters);
    CHECK(static_cast<double>(total.stash.value()) == sums.activations);
  }
  CHECK(files == 13);
}

}  // namespace stagecraft::import_pipedream_test
