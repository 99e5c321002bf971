// One file for each defect (tests/vectors/README.md): the message must start with the expected place and words.
#include "experiments/measured/logged_step.hpp"
#include "experiments/study/cell_inputs.hpp"
#include "experiments/study/run_cell.hpp"
#include "experiments/study/study_file.hpp"
#include "sim/base/error.hpp"
#include "sim/io/architecture_file.hpp"
#include "sim/io/device_file.hpp"
#include "sim/io/events_file.hpp"
#include "sim/io/hf_config.hpp"
#include "sim/io/import_astra_network.hpp"
#include "sim/io/import_dnn_partitioning.hpp"
#include "sim/io/import_nccl_tests.hpp"
#include "sim/io/import_nccl_topology.hpp"
#include "sim/io/import_nvidia_topo.hpp"
#include "sim/io/import_pipedream.hpp"
#include "sim/io/import_pipedream_plan.hpp"
#include "sim/io/import_piper.hpp"
#include "sim/io/import_sailor.hpp"
#include "sim/io/import_simai_topo.hpp"
#include "sim/io/import_vpipe.hpp"
#include "sim/io/kineto_trace.hpp"
#include "sim/io/megatron_export.hpp"
#include "sim/io/megatron_import.hpp"
#include "sim/io/megatron_log.hpp"
#include "sim/io/megatron_network.hpp"
#include "sim/io/megatron_unread.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/nccl_platform.hpp"
#include "sim/io/pipedream_conf.hpp"
#include "sim/io/pipedream_graph.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/schedule_csv.hpp"
#include "sim/io/schedule_file.hpp"
#include "sim/io/simai_platform.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/topo_platform.hpp"
#include "tests/io/language_chain.hpp"
#include "tests/refusals/corpus.hpp"
#include "tests/refusals/update.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

using namespace stagecraft;

namespace {

namespace fs = std::filesystem;

const fs::path kVectors = refusals::vectors();

void read_plan(const std::string& path) {
  const Model model = read_model_file((kVectors / "good/model_toy.yaml").string());
  const Platform platform = build_platform(read_platform_file((kVectors / "good/platform_two_nodes.yaml").string()));
  const PlanReading reading = parse_plan(read_text_file(path), path, model.profiles.at(0), platform);
  if (!reading.problems.empty()) throw reading.problems.front();
}

void read_schedule(const std::string& path) {
  const Platform platform = build_platform(read_platform_file((kVectors / "good/platform_two_nodes.yaml").string()));
  static_cast<void>(parse_schedule(read_text_file(path), path, platform));
}

/// Reads a table of orders for four stages that go down two devices and up again.
void read_table(const std::string& path) {
  const Model model = read_model_file((kVectors / "good/model_toy.yaml").string());
  const Platform platform = build_platform(read_platform_file((kVectors / "good/platform_two_nodes.yaml").string()));
  const std::string plan = (kVectors / "good/plan_folded.yaml").string();
  const PlanReading reading = parse_plan(read_text_file(plan), plan, model.profiles.at(0), platform);
  static_cast<void>(parse_schedule_csv(read_text_file(path), path, reading.plan, platform));
}

void read_events(const std::string& path) {
  const Platform platform = build_platform(read_platform_file((kVectors / "good/platform_two_nodes.yaml").string()));
  static_cast<void>(resolve_events(load_events(path, path).events, platform));
}

/// The cells of a bad study are refused before they get to the replay.
void read_study(const std::string& path) {
  const Study study = parse_study(read_text_file(path), path);
  const Expansion expansion = expand(study);
  if (!expansion.warnings.empty()) throw InputError(expansion.warnings.front());
  const Manifest manifest = make_manifest(study, expansion, {});
  for (const StudyCell& cell : manifest.cells) {
    const CellSpec spec = read_cell(cell.cell);
    const Row row = run_cell(manifest, cell.key, spec, load_inputs(manifest, spec));
    if (row.status == CellStatus::Invalid) throw InputError(row.message);
  }
}

void read_vpipe(const std::string& path) {
  const Model model = read_model_file((kVectors / "good/model_toy.yaml").string());
  const Platform platform = build_platform(read_platform_file((kVectors / "good/platform_two_nodes.yaml").string()));
  static_cast<void>(vpipe_stages(parse_vpipe(read_text_file(path), path), model.profiles.at(0), platform));
}

/// Behind the line with the expectation.
std::string graph_text(const std::string& path) {
  const std::string text = read_text_file(path);
  return text.substr(text.find('\n'));
}

void read_pipedream_plan(const PipedreamGraph& graph, const std::optional<PipedreamConf>& conf) {
  const Model model = read_model_file((kVectors / "good/model_toy.yaml").string());
  const Platform platform = build_platform(read_platform_file((kVectors / "good/platform_two_nodes.yaml").string()));
  static_cast<void>(pipedream_stages(graph, conf, model.profiles.at(0), platform));
}

void read_pipedream_conf(const std::string& path) {
  const std::string graph = (kVectors / "commands/pipedream_toy.graph").string();
  const PipedreamConf conf = parse_pipedream_conf(read_text_file(path), path);
  read_pipedream_plan(parse_pipedream_graph(read_text_file(graph), path), conf);
}

/// A language model of eight blocks, of which one has experts.
LayerGraph language_model() {
  LayerGraph graph = testing::language_chain(8);
  graph.work.tokens = 2048;
  graph.layers[LayerId(2)].experts = Bytes(32);
  return graph;
}

/// The sizes of such a model.
NetworkSizes language_sizes() {
  return {.hidden = 512,
          .heads = 8,
          .key_value_heads = 2,
          .head_size = 64,
          .feed_forward = 1024,
          .vocabulary = 32000,
          .positions = 2048,
          .experts = 8,
          .active_experts = 2,
          .expert_feed_forward = 1024,
          .shared_feed_forward = 0,
          .query_rank = 0,
          .key_value_rank = 0,
          .nope = 0,
          .rope = 0,
          .value = 0};
}

void read_megatron_flags(const std::string& path) {
  MegatronFlags flags = parse_megatron_flags(read_text_file(path), path);
  const MegatronRun run = read_megatron_run(flags);
  const MegatronNetwork network = read_megatron_network(flags);
  static_cast<void>(unread_flags(flags));
  static_cast<void>(megatron_plan(run, flags, language_model(), network_units(language_model()), 8));
  static_cast<void>(compare_network(network, run, flags, language_sizes(), language_model()));
}

void read_plan_for_megatron(const std::string& path) {
  const LayerGraph graph = language_model();
  const Platform platform = testing::like_devices(8);
  const PlanReading reading = parse_plan(read_text_file(path), path, graph, platform);
  REQUIRE(reading.problems.empty());
  static_cast<void>(megatron_export(reading.plan, graph, platform, false));
}

void read_sailor(const std::string& path) {
  const std::string network = (kVectors / "good/architecture_gpt.yaml").string();
  const SailorRun run{parse_architecture(read_text_file(network), network), "A"};
  static_cast<void>(import_sailor(read_text_file(path), path, run));
}

void read_topo(const std::string& path) {
  const std::string kind = "A100-SXM4-40GB";
  TopoMachine machine{"node", {}, *find_device_links(kind)};
  machine.kind.name = kind;
  const TopoMatrix matrix = parse_nvidia_topo(read_bytes_file(path), path);
  if (!matrix.nics.empty()) machine.nic = BytesPerSecond(25e9);
  static_cast<void>(topo_platform(matrix, machine));
}

void read_topology(const std::string& path) {
  const std::string kind = "A100-SXM4-40GB";
  NcclMachine machine{"node", {}, find_device_links(kind)};
  machine.kind.name = kind;
  static_cast<void>(nccl_platform(parse_nccl_topology(read_bytes_file(path), path), machine));
}

/// Reads the file as what its name says it is.
void read_as_named(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::string format = name.substr(0, name.find('_'));
  if (format == "model") {
    static_cast<void>(read_model_file(path.string()));
  } else if (format == "platform") {
    static_cast<void>(read_platform_file(path.string()));
  } else if (format == "plan") {
    read_plan(path.string());
  } else if (format == "architecture") {
    static_cast<void>(parse_architecture(read_text_file(path.string()), path.string()));
  } else if (format == "config") {
    static_cast<void>(read_hf_config(path.string()));
  } else if (format == "device") {
    static_cast<void>(parse_device(read_text_file(path.string()), path.string()));
  } else if (format == "events") {
    read_events(path.string());
  } else if (format == "schedule") {
    read_schedule(path.string());
  } else if (format == "table") {
    read_table(path.string());
  } else if (format == "study") {
    read_study(path.string());
  } else if (format == "pipedream") {
    static_cast<void>(import_pipedream(graph_text(path.string()), path.string(), 1, "A"));
  } else if (format == "pipedream-plan") {
    read_pipedream_plan(parse_pipedream_graph(graph_text(path.string()), path.string()), std::nullopt);
  } else if (format == "pipedream-conf") {
    read_pipedream_conf(path.string());
  } else if (format == "piper") {
    static_cast<void>(import_piper(read_text_file(path.string()), path.string(), 1, "A", "s"));
  } else if (format == "dnn-partitioning") {
    static_cast<void>(import_dnn_partitioning(read_text_file(path.string()), path.string(), 1, "A", "ms"));
  } else if (format == "sailor") {
    read_sailor(path.string());
  } else if (format == "vpipe") {
    read_vpipe(path.string());
  } else if (format == "nccl") {
    static_cast<void>(parse_nccl_tests(read_text_file(path.string()), path.string()));
  } else if (format == "kineto") {
    static_cast<void>(read_kineto_trace(path.string()));
  } else if (format == "simai") {
    static_cast<void>(simai_platform(parse_simai_topo(graph_text(path.string()), path.string()), "network", {}));
  } else if (format == "astra") {
    static_cast<void>(parse_astra_network(read_text_file(path.string()), path.string()));
  } else if (format == "nccl-topology") {
    read_topology(path.string());
  } else if (format == "topo") {
    read_topo(path);
  } else if (format == "megatron") {
    read_megatron_flags(path.string());
  } else if (format == "megatron-log") {
    const MegatronLog log = parse_megatron_log(read_text_file(path.string()), path.string());
    static_cast<void>(logged_step(*log.arguments, log, measured_times(log, 10),
                                  {"log", "", (kVectors / "good/architecture_gpt.yaml").string(), "", ""}));
  } else if (format == "megatron-plan") {
    read_plan_for_megatron(path.string());
  } else {
    FAIL_CHECK("no reader for files named " << format << "_…");
  }
}

/// What the refusal says behind the path that it starts with. No other place names a folder of this machine.
std::optional<std::string> refusal_of(const fs::path& path) {
  try {
    read_as_named(path);
  } catch (const InputError& error) {
    std::string message = error.what();
    const std::string path_and_colon = path.string() + ":";
    if (message.starts_with(path_and_colon)) message.erase(0, path_and_colon.size());
    if (message.starts_with(' ')) message.erase(0, 1);
    return refusals::replaced(message, kVectors.string(), "@");
  }
  return std::nullopt;
}

std::vector<fs::path> bad_files() {
  std::vector<fs::path> files;
  for (const fs::path& path : refusals::files_of("bad")) {
    if (path.extension() != ".expect") files.push_back(path);
  }
  return files;
}

}  // namespace

TEST_CASE("bad input: each file is refused with its own message and place") {
  const std::vector<fs::path> files = bad_files();
  CHECK(files.size() >= 150);
  for (const fs::path& path : files) {
    CAPTURE(path.filename().string());
    const std::optional<std::string> refusal = refusal_of(path);
    CHECK(refusal.has_value());
    if (!refusal) continue;
    if (refusals::is_updating()) refusals::renew_expectation(path, *refusal);
    const std::string expected = refusals::expectation_of(path);
    CAPTURE(expected);
    CAPTURE(*refusal);
    CHECK(refusals::is_kept(expected, *refusal));
  }
}

TEST_CASE("bad input: a name that is no file is refused by every reader") {
  const std::string folder = (kVectors / "bad").string();
  const std::string missing = (kVectors / "bad/no_such_file.yaml").string();
  const auto refuses = [](const auto& read, const std::string& path, const std::string& message) {
    CHECK_THROWS_WITH_AS(read(path), (path + ": " + message).c_str(), InputError);
  };
  const auto model = [](const std::string& path) { static_cast<void>(read_model_file(path)); };
  const auto platform = [](const std::string& path) { static_cast<void>(read_platform_file(path)); };
  const auto header = [](const std::string& path) { static_cast<void>(read_plan_header(path)); };
  refuses(model, folder, "expected a file, found a directory");
  refuses(platform, folder, "expected a file, found a directory");
  refuses(header, folder, "expected a file, found a directory");
  refuses(read_plan, folder, "expected a file, found a directory");
  refuses(model, missing, "cannot be read: No such file or directory");
  refuses(platform, missing, "cannot be read: No such file or directory");
  refuses(header, missing, "cannot be read: No such file or directory");
  refuses(read_plan, missing, "cannot be read: No such file or directory");
}
