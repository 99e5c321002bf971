// `export --to chakra`, decoded by a reader of its own and compared with `--timeline --json` of the same run.
#include "tests/experiments/commands/told_run.hpp"
#include "tests/experiments/perfetto_reader.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;
using test::read_message;

enum NodeType : std::uint8_t { kMetadata = 1, kLoad = 2, kStore = 3, kCompute = 4, kSend = 5, kReceive = 6, kAll = 7 };

struct EtNode {
  std::uint64_t id = 0;
  std::string name;
  std::uint64_t type = 0;
  std::vector<std::uint64_t> deps;  ///< of both kinds
  std::int64_t start = 0;           ///< microseconds
  std::int64_t duration = 0;
  std::map<std::string, std::int64_t> numbers;
  std::string group;
};

/// The fields that readers of Chakra look for each attribute in.
std::uint32_t field_of(const std::string& attribute) {
  static const std::map<std::string, std::uint32_t> kFields{
      {"is_cpu_op", 27}, {"comm_type", 9}, {"comm_size", 9}, {"comm_src", 7},   {"comm_dst", 7},
      {"comm_tag", 7},   {"pg_name", 29},  {"stage", 9},     {"microbatch", 9}, {"tensor_size", 13}};
  return kFields.at(attribute);
}

EtNode node_of(std::string_view bytes) {
  EtNode node;
  for (const auto& field : read_message(bytes)) {
    if (field.number == 1) node.id = field.value;
    if (field.number == 2) node.name = field.bytes;
    if (field.number == 3) node.type = field.value;
    if (field.number == 4 || field.number == 5) node.deps.push_back(field.value);
    if (field.number == 6) node.start = static_cast<std::int64_t>(field.value);
    if (field.number == 7) node.duration = static_cast<std::int64_t>(field.value);
    if (field.number != 10) continue;
    const auto attribute = read_message(field.bytes);
    REQUIRE(attribute.size() == 2);
    const std::string name(attribute[0].bytes);
    CHECK(attribute[1].number == field_of(name));
    if (name == "pg_name") node.group = attribute[1].bytes;
    node.numbers[name] = static_cast<std::int64_t>(attribute[1].value);
  }
  return node;
}

/// The nodes of one device.
std::vector<EtNode> read_trace(const std::string& path) {
  const std::string file = read(path);
  std::string_view left = file;
  const auto metadata = read_message(test::read_delimited(left));
  CHECK(metadata.front().bytes == "0.0.4");
  std::vector<EtNode> nodes;
  while (!left.empty()) {
    nodes.push_back(node_of(test::read_delimited(left)));
    CHECK(nodes.back().id == nodes.size() - 1);
  }
  return nodes;
}

/// What was exported of a plan, and what is told of the same run.
struct Exported {
  Json told;
  std::vector<std::string> devices;  ///< by number; empty for one that does nothing
  std::vector<std::vector<EtNode>> traces;
  Json groups = Json::object();

  Exported(const Folder& folder, const test::PlanOnDisk& plan) : told(Json::parse(plan.told())) {
    const std::string prefix = folder.file("run");
    const Ran ran = run(plan.of("export", {"--to", "chakra", "-o", prefix, "--json"}));
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    const Json answer = Json::parse(ran.out);
    for (const std::string file : answer["files"]) {
      if (file.ends_with(".et")) traces.push_back(read_trace(file));
      if (file.ends_with(".json")) groups = Json::parse(read(file));
    }
    devices.resize(traces.size());
    const std::string trace = plan.exported("perfetto");
    const test::PerfettoReader reader(trace);
    for (const auto& [uuid, track] : reader.tracks) {  // hosts and links come behind the devices
      if (track.pid && *track.pid <= devices.size()) devices[*track.pid - 1] = track.name;
    }
  }
  [[nodiscard]] std::int64_t count(NodeType type) const {
    std::int64_t sum = 0;
    for (const auto& nodes : traces) sum += std::ranges::count(nodes, type, &EtNode::type);
    return sum;
  }
  [[nodiscard]] std::int64_t count(const std::string& op) const {
    return std::ranges::count_if(told["timeline"], [&](const Json& each) { return each["op"] == op; });
  }
};

std::int64_t microseconds(const Json& seconds) { return std::llround(seconds.get<double>() * 1e6); }

/// Name, device (for a message the sending one), the other device, bytes, start and end.
using Said = std::tuple<std::string, std::string, std::string, std::int64_t, std::int64_t, std::int64_t>;

Said said_of(const Json& op) {
  const std::string name = op["op"].get<std::string>() + " " + std::to_string(op["microbatch"].get<int>());
  return {name, op["from"], op["to"], op["bytes"], microseconds(op["start_s"]), microseconds(op["end_s"])};
}

/// Every computation, and every transfer between devices as a send and as a receive, with sizes and dates.
void check_operations(const Exported& run) {
  std::multiset<Said> computations, sends, receives;
  for (std::size_t device = 0; device < run.traces.size(); ++device) {
    const std::string& own = run.devices[device];
    for (const EtNode& node : run.traces[device]) {
      const auto end = node.start + node.duration;
      if (node.type == kCompute) computations.emplace(node.name, own, own, 0, node.start, end);
      if (node.type != kSend && node.type != kReceive) continue;
      const auto from = static_cast<std::size_t>(node.numbers.at("comm_src"));
      const auto to = static_cast<std::size_t>(node.numbers.at("comm_dst"));
      CHECK((node.type == kSend ? from : to) == device);
      (node.type == kSend ? sends : receives)
          .emplace(node.name, run.devices.at(from), run.devices.at(to), node.numbers.at("comm_size"), node.start, end);
    }
  }
  std::multiset<Said> told_computations, told_messages;
  for (const Json& op : run.told["timeline"]) {
    const std::string kind = op["op"];
    if (kind == "activation" || kind == "gradient") told_messages.insert(said_of(op));
    if (test::is_mark(kind) || op["from"] != op["to"]) continue;
    told_computations.insert(said_of(op));
  }
  CHECK(!told_computations.empty());
  CHECK(computations == told_computations);
  CHECK(sends == told_messages);
  CHECK(receives == told_messages);
}

/// Plays the traces with nothing but their dependencies, messages and groups. Returns whether all nodes end.
class Player {
 public:
  explicit Player(const Exported& run) : run_(run), ended_(run.traces.size()) {
    for (std::size_t device = 0; device < run.traces.size(); ++device) {
      std::map<std::string, std::size_t> collectives;
      for (const EtNode& node : run.traces[device]) {
        if (node.type == kSend || node.type == kReceive) {
          ++messages_[{node.numbers.at("comm_src"), node.numbers.at("comm_dst"), node.numbers.at("comm_tag")}];
        }
        if (node.type == kAll) met_[{node.group, collectives[node.group]++}].emplace_back(device, node.id);
      }
    }
  }
  /// Each message has one send and one receive, and each collective all members of its group.
  void check_partners() const {
    for (const auto& [message, ends] : messages_) CHECK(ends == 2);
    for (const auto& [collective, nodes] : met_) {
      std::vector<std::size_t> members;
      for (const auto& [device, node] : nodes) members.push_back(device);
      CHECK(Json(members) == run_.groups.at(collective.first));
    }
  }
  [[nodiscard]] bool ends() {
    while (step()) {
    }
    for (std::size_t device = 0; device < ended_.size(); ++device) {
      if (ended_[device].size() != run_.traces[device].size()) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] bool is_ready(std::size_t device, const EtNode& node) const {
    return std::ranges::all_of(node.deps, [&](std::uint64_t on) { return ended_[device].contains(on); });
  }
  [[nodiscard]] bool may_end(std::size_t device, const EtNode& node) const {
    if (!is_ready(device, node)) return false;
    if (node.type == kReceive) {
      return sent_.contains({node.numbers.at("comm_src"), node.numbers.at("comm_dst"), node.numbers.at("comm_tag")});
    }
    if (node.type != kAll) return true;
    const auto collective = std::ranges::find_if(met_, [&](const auto& each) {
      return std::ranges::find(each.second, std::pair(device, node.id)) != each.second.end();
    });
    return std::ranges::all_of(collective->second, [&](const auto& member) {
      return is_ready(member.first, run_.traces[member.first][member.second]);
    });
  }
  bool step() {
    bool moves = false;
    for (std::size_t device = 0; device < ended_.size(); ++device) {
      for (const EtNode& node : run_.traces[device]) {
        if (ended_[device].contains(node.id) || !may_end(device, node)) continue;
        ended_[device].insert(node.id);
        if (node.type == kSend) {
          sent_.insert({node.numbers.at("comm_src"), node.numbers.at("comm_dst"), node.numbers.at("comm_tag")});
        }
        moves = true;
      }
    }
    return moves;
  }

  using Message = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  const Exported& run_;
  std::vector<std::set<std::uint64_t>> ended_;
  std::map<Message, int> messages_;
  std::set<Message> sent_;
  std::map<std::pair<std::string, std::size_t>, std::vector<std::pair<std::size_t, std::uint64_t>>> met_;
};

/// A node starts after all that it depends on. Dates are rounded, so that the run has the same order.
void check_dependencies(const Exported& run) {
  std::size_t count = 0;
  for (const auto& nodes : run.traces) {
    for (const EtNode& node : nodes) {
      for (const std::uint64_t on : node.deps) {
        REQUIRE(on < node.id);
        CHECK(nodes[on].start + nodes[on].duration <= node.start);
        ++count;
      }
    }
  }
  CHECK(count > 0);
}

void check_run(const Exported& run) {
  check_operations(run);
  check_dependencies(run);
  Player player(run);
  player.check_partners();
  CHECK(player.ends());
}

}  // namespace

TEST_CASE("export --to chakra: computations, messages, collectives and what they wait for") {
  const Folder folder;
  const Exported uniform(folder, test::planned(folder, "bert-large", "dgx-1-v100",
                                               {"--planner", "uniform", "--set", "stages=4", "--microbatches", "8"}));
  check_run(uniform);
  CHECK(uniform.count(kAll) == uniform.count("all-reduce"));  // rings of two: a flow for each member
  CHECK(uniform.groups.size() == 4);
  const Exported spp(
      folder, test::planned(folder, "vgg16-blocks", "p3.8xlarge-x4", {"--planner", "spp", "--microbatches", "8"}));
  check_run(spp);
}

TEST_CASE("export --to chakra: an update waits for its all-reduce, which has the bytes of the gradients") {
  // Both layers on both devices: 2 · 1 MB of parameters, so gradients of 2 MB.
  const Toy toy;
  write(toy.plan,
        "schema: stagecraft/plan/1\nmicrobatch_size: 4\nmicrobatches: 4\nschedule: {name: gpipe}\n"
        "stages: [{layers: [first, second], devices: [a, b]}]\n");
  const Exported run(toy, test::on_disk(toy));
  check_run(run);
  CHECK(run.groups == Json{{"1", {0, 1}}});
  for (const auto& nodes : run.traces) {
    const auto all_reduce = std::ranges::find(nodes, std::uint64_t{kAll}, &EtNode::type);
    REQUIRE(all_reduce != nodes.end());
    CHECK(all_reduce->numbers.at("comm_size") == 2'000'000);
    CHECK(all_reduce->numbers.at("comm_type") == 0);
    REQUIRE(all_reduce->deps.size() == 1);
    CHECK(nodes[all_reduce->deps.front()].name.starts_with("backward"));
  }
}

TEST_CASE("export --to chakra: the order of GPipe on two devices") {
  // Device a: forwards 0 to 7, each sent on; then backwards, each after its gradient and the computation before it.
  const Toy toy;
  const Exported run(toy, test::on_disk(toy));
  check_run(run);
  CHECK(run.count(kCompute) == 2 * 2 * 8);
  CHECK(run.count(kSend) == 2 * 8);
  const std::vector<EtNode>& nodes = run.traces[0];
  std::string before;
  for (const EtNode& node : nodes) {
    std::set<std::string> waits;
    for (const std::uint64_t on : node.deps) waits.insert(nodes[on].name);
    const std::string microbatch = std::to_string(node.numbers.at("microbatch"));
    std::set<std::string> expected;
    if (node.type == kSend) expected.insert("forward " + microbatch);
    if (node.type == kCompute && !before.empty()) expected.insert(before);
    if (node.name.starts_with("backward")) expected.insert("gradient " + microbatch);
    if (node.type == kCompute) before = node.name;
    CHECK(waits == expected);
  }
}

TEST_CASE("export --to chakra: swaps load and store, and a device without work has a node") {
  const Folder folder;
  const Exported swaps(folder, test::planned(folder, "bert-48", "rtx2080ti-4x4",
                                             {"--planner", "vpipe", "--microbatches", "32", "--memory", "swap"}));
  check_operations(swaps);
  check_dependencies(swaps);
  CHECK(swaps.count("swap-out") > 0);
  CHECK(swaps.count(kStore) == swaps.count("swap-out"));
  CHECK(swaps.count(kLoad) == swaps.count("swap-in"));
  for (const std::vector<EtNode>& nodes : swaps.traces) {
    for (const std::uint64_t kind : {std::uint64_t{kStore}, std::uint64_t{kLoad}}) {
      std::size_t copies = 0;
      std::size_t later = 0;  // than another copy in their direction, for which they wait
      for (const EtNode& node : nodes) {
        if (node.type != kind) continue;
        ++copies;
        later += std::ranges::any_of(node.deps, [&](std::uint64_t on) { return nodes[on].type == kind; }) ? 1 : 0;
      }
      CHECK(later + 1 >= copies);
    }
  }

  const Toy toy;
  write(toy.plan,
        "schema: stagecraft/plan/1\nmicrobatch_size: 4\nmicrobatches: 2\nschedule: {name: gpipe}\n"
        "stages: [{layers: [first, second], devices: [a]}]\n");
  const Exported alone(toy, test::on_disk(toy));
  REQUIRE(alone.traces[1].size() == 1);
  CHECK(alone.traces[1].front().type == kMetadata);
  CHECK(alone.count(kCompute) == 2 * 2);
}

TEST_CASE("export --to chakra: a tensor that passes host memory is one message") {
  const Folder folder;
  const std::string vectors = STAGECRAFT_SOURCE_DIR "/tests/vectors/good/";
  const test::PlanOnDisk plan{{vectors + "plan_two_stages.yaml", "--model", vectors + "model_toy.yaml", "--platform",
                               vectors + "platform_host_transport.yaml"}};
  const Exported run(folder, plan);
  Player player(run);
  player.check_partners();
  CHECK(player.ends());
  check_dependencies(run);
  CHECK(run.count(kSend) > 0);
  CHECK(run.count("activation") + run.count("gradient") > run.count(kSend));  // a transfer for each leg
}

TEST_CASE("export --to chakra: no file of another export stays beside the new ones") {
  const Toy toy;  // two devices, no collectives
  const test::PlanOnDisk plan = test::on_disk(toy);
  for (const char* name : {"run.2.et", "run.groups.json"}) {
    const std::string left = toy.file(name);
    write(left, name == std::string("run.2.et") ? "" : R"({"1":[0,1]})");
    const Ran ran = run(plan.of("export", {"--to", "chakra", "-o", toy.file("run")}));
    CHECK(ran.code == 2);
    CHECK(ran.err.find("left over") != std::string::npos);
    CHECK(!std::filesystem::exists(toy.file("run.0.et")));
    std::filesystem::remove(left);
  }
}

TEST_CASE("export --to chakra: no file is written over another kind") {
  const Toy toy;
  const test::PlanOnDisk plan = test::on_disk(toy);
  const std::string prefix = toy.file("run");
  const auto write_it = [&] { return run(plan.of("export", {"--to", "chakra", "-o", prefix})).code; };
  CHECK(write_it() == 0);
  CHECK(write_it() == 0);
  write(prefix + ".1.et", "notes\n");
  std::filesystem::remove(prefix + ".0.et");
  CHECK(write_it() == 2);
  CHECK(read(prefix + ".1.et") == "notes\n");
  CHECK(!std::filesystem::exists(prefix + ".0.et"));
}

}  // namespace stagecraft
