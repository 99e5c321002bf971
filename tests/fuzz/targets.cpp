#include "tests/fuzz/targets.hpp"

#include "sim/io/json_schema.hpp"
#include "tests/paths.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace stagecraft::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestSeed = 16 << 10;

/// Where the files of each target lie, and how their names start.
struct Source {
  std::string_view target;
  const char* folder;
  const char* prefix;
};

const std::vector<Source>& sources() {
  static const std::vector<Source> kSources = {
      {"architecture", "tests/vectors/good", "architecture_"},
      {"architecture", "tests/vectors/bad", "architecture_"},
      {"config", "tests/vectors/good", "config_"},
      {"config", "tests/vectors/bad", "config_"},
      {"device", "tests/vectors/good", "device_"},
      {"device", "tests/vectors/bad", "device_"},
      {"document", "tests/vectors/good", ""},
      {"document", "tests/vectors/bad", ""},
      {"events", "tests/vectors/good", "events_"},
      {"events", "tests/vectors/bad", "events_"},
      {"kineto", "tests/vectors/bad", "kineto_"},
      {"kineto", "tests/vectors/commands", "kineto_"},
      {"model", "tests/vectors/good", "model_"},
      {"model", "tests/vectors/bad", "model_"},
      {"model", "traces", ""},
      {"nccl", "tests/vectors/bad", "nccl_"},
      {"nccl", "tests/vectors/commands", "nccl_"},
      {"pipedream", "tests/vectors/good", "pipedream_"},
      {"pipedream", "tests/vectors/bad", "pipedream"},
      {"plan", "tests/vectors/good", "plan_"},
      {"plan", "tests/vectors/bad", "plan_"},
      {"platform", "tests/vectors/good", "platform_"},
      {"platform", "tests/vectors/bad", "platform_"},
      {"platform", "platforms", ""},
      {"schedule", "tests/vectors/good", "schedule_"},
      {"schedule", "tests/vectors/bad", "schedule_"},
      {"steps", "tests/vectors/commands", "steps_"},
      {"study", "tests/vectors/bad", "study_"},
      {"study", "tests/vectors/commands", "study_"},
      {"study", "tests/vectors/studies/first", "manifest"},
      {"table", "tests/vectors/good", "table_"},
      {"table", "tests/vectors/bad", "table_"},
      {"topo", "tests/vectors/topo", ""},
      {"topo", "tests/vectors/bad", "topo_"},
      {"network", "tests/vectors/bad", "simai_"},
      {"network", "tests/vectors/bad", "astra_"},
      {"network", "tests/vectors/commands", "simai_"},
      {"network", "tests/vectors/commands", "astra_"},
      {"xml", "tests/vectors/nccl-topology", ""},
      {"xml", "tests/vectors/bad", "nccl-topology_"},
  };
  return kSources;
}

/// Seeds of the targets that read no file.
std::vector<std::string> spoken_seeds(std::string_view target) {
  if (target == "text") {
    return {"16 GiB",      "25 GBps", "200 Gbps", "12 us",   "1.5 ms",
            "0.5 s",       "8 B",     "0",        "41.3 ms", "1e-4 s",
            "15.7 TFLOPS", "12 b",    "1.5 B",    "-1 s",    "nan s",
            "1e400 s",     "010 B",   "0x10",     "2 min",   "3 h",
            "7 ns",        "1E+3 s",  ".5 s",     "5. s",    "9007199254740993 B"};
  }
  if (target == "study") {
    return {"platform.network.bandwidth=10 Gbps",
            "limits.time=3 s",
            "seeds.count=4",
            "uniform.stages=[2]",
            "nodes[1].count",
            R"({"key":"k","status":"ok","message":"","figures":{"stages":2},"timings":{"wall_time_s":0.5}})",
            "schema: stagecraft/study/1\nstudy: seed\nbase: {model: vgg16, platform: p, planner: uniform}\n"
            "matrix: {nodes: [1, 2], uniform.stages: [1, 2]}\n"
            "zip: [{microbatches: [4, 8], microbatch_size: [1, 2]}]\nexclude: [{nodes: 1, microbatches: 4}]\n"
            "include: [{planner: {name: uniform, label: a, stages: 3}}]\nseeds: {count: 2}\n"
            "baseline: {nodes: 1}\nlimits: {time: 3 s, memory: 1 GiB, retries: 0}\n"};
  }
  if (target == "options") {
    return {"gradient_copies=1,optimizer_copies=2,stash=input,input_gradient_release=0.5,gradient_bucket=1 MiB",
            "A=1.5\nB=2\n",
            "stages=2",
            "straight=true\nmemory_test=original\nmax_work=2e10",
            "pipedream,uniform",
            "1000000000"};
  }
  return {};
}

std::string content(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The keys and choices of a schema.
void add_quoted_words(std::string_view text, std::set<std::string>& words) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_/$+-";
  for (std::size_t open = text.find('"'); open != std::string_view::npos; open = text.find('"', open + 1)) {
    const std::string_view word = text.substr(open + 1, text.find('"', open + 1) - open - 1);
    if (!word.empty() && word.find_first_not_of(kLetters) == std::string_view::npos) words.emplace(word);
  }
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> kTargets = {
      {"architecture", take_architecture},
      {"config", take_config},
      {"device", take_device},
      {"document", take_document},
      {"events", take_events},
      {"kineto", take_kineto},
      {"model", take_model},
      {"nccl", take_nccl},
      {"network", take_network},
      {"options", take_options},
      {"pipedream", take_pipedream},
      {"plan", take_plan},
      {"platform", take_platform},
      {"schedule", take_schedule},
      {"steps", take_steps},
      {"study", take_study},
      {"table", take_table},
      {"text", take_text},
      {"topo", take_topo},
      {"xml", take_xml},
  };
  return kTargets;
}

std::vector<std::string> seeds(const Target& target) {
  std::vector<fs::path> paths;
  for (const Source& source : sources()) {
    if (source.target != target.name) continue;
    for (const auto& entry : fs::directory_iterator(fs::path(STAGECRAFT_SOURCE_DIR) / source.folder)) {
      const std::string name = entry.path().filename().string();
      const bool is_data = !name.ends_with(".expect") && !name.ends_with(".md");
      if (!entry.is_regular_file()) continue;
      if (is_data && name.starts_with(source.prefix) && entry.file_size() <= kLargestSeed)
        paths.push_back(entry.path());
    }
  }
  std::ranges::sort(paths);
  std::vector<std::string> texts = spoken_seeds(target.name);
  for (const fs::path& path : paths) texts.push_back(content(path));
  return texts;
}

std::vector<std::string> dictionary() {
  std::set<std::string> words = {"GiB",
                                 "MiB",
                                 "kB",
                                 "TB",
                                 "B",
                                 "b",
                                 "Gbps",
                                 "GBps",
                                 "us",
                                 "ns",
                                 "ms",
                                 "min",
                                 "1e308",
                                 "1e-308",
                                 "9007199254740992",
                                 "1000000000",
                                 "4294967296",
                                 "9223372036854775807",
                                 "nan",
                                 "inf",
                                 "-1",
                                 "0",
                                 "---",
                                 "...",
                                 "&a",
                                 "*a",
                                 "<<",
                                 "? ",
                                 "!!str",
                                 "|",
                                 ">-",
                                 "\xEF\xBB\xBF",
                                 "\\uD800",
                                 "%YAML 1.2",
                                 "'",
                                 "\"",
                                 "[[",
                                 "{a: "};
  for (const std::string& name : schema_names()) add_quoted_words(json_schema(name), words);
  return {words.begin(), words.end()};
}

}  // namespace stagecraft::fuzz
