// The targets that read files.
#include "experiments/measured/kineto_layers.hpp"
#include "experiments/measured/kineto_model.hpp"
#include "experiments/measured/kineto_transfers.hpp"
#include "experiments/measured/measured_steps.hpp"
#include "experiments/run/judge.hpp"
#include "sim/io/architecture_file.hpp"
#include "sim/io/device_file.hpp"
#include "sim/io/events_file.hpp"
#include "sim/io/hf_config.hpp"
#include "sim/io/import_astra_network.hpp"
#include "sim/io/import_nccl_tests.hpp"
#include "sim/io/import_nccl_topology.hpp"
#include "sim/io/import_nvidia_topo.hpp"
#include "sim/io/import_pipedream.hpp"
#include "sim/io/import_pipedream_plan.hpp"
#include "sim/io/import_simai_topo.hpp"
#include "sim/io/json.hpp"
#include "sim/io/kineto_trace.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/nccl_platform.hpp"
#include "sim/io/pipedream_conf.hpp"
#include "sim/io/pipedream_graph.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/schedule_csv.hpp"
#include "sim/io/schedule_file.hpp"
#include "sim/io/simai_platform.hpp"
#include "sim/io/topo_platform.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/io/yaml_text.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/schedule/check_schedule.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/fuzz/road.hpp"
#include "tests/fuzz/targets.hpp"

#include <limits>
#include <optional>
#include <variant>

namespace stagecraft::fuzz {
namespace {

constexpr std::size_t kManyOperators = 400;

bool has_many_operators(const Architecture& architecture) { return architecture.operators.size() > kManyOperators; }

/// All numbers are finite: JSON has no others.
bool is_finite(const Detail& value) {
  if (const auto* number = std::get_if<double>(&value.value)) {
    return *number >= std::numeric_limits<double>::lowest() && *number <= std::numeric_limits<double>::max();
  }
  if (const auto* list = std::get_if<Detail::List>(&value.value)) {
    for (const Detail& item : *list) {
      if (!is_finite(item)) return false;
    }
  }
  if (const auto* record = std::get_if<Detail::Record>(&value.value)) {
    for (const auto& [name, item] : *record) {
      if (!is_finite(item)) return false;
    }
  }
  return true;
}

}  // namespace

void take_model(std::string_view input) {
  Model model;
  if (takes([&] { model = parse_model(input, "input"); })) follow(model);
}

void take_platform(std::string_view input) {
  PlatformSpec spec;
  if (takes([&] { spec = parse_platform(input, "input"); })) follow(spec);
}

void take_plan(std::string_view input) {
  takes([&] { static_cast<void>(parse_plan_header(input, "input")); });
  PlanReading reading;
  if (!takes([&] { reading = parse_plan(input, "input", toy_graph(), toy_platform()); })) return;
  for (const std::string& text : {write_plan_yaml(reading.plan, toy_graph(), toy_platform()),
                                  plan_to_json(reading.plan, toy_graph(), toy_platform())}) {
    if (!reading.problems.empty()) break;
    const PlanReading again = parse_plan(text, "written", toy_graph(), toy_platform());
    STAGECRAFT_CHECK(again.problems.empty() && again.plan == reading.plan, "a plan reads back");
  }
  static_cast<void>(judge_plan(toy_graph(), toy_platform(), reading));
}

void take_schedule(std::string_view input) {
  takes([&] { static_cast<void>(parse_schedule(input, "input", toy_platform())); });
}

void take_table(std::string_view input) {
  GivenOrders orders;
  if (!takes([&] { orders = parse_schedule_csv(input, "input", folded_plan(), toy_platform()); })) return;
  const std::string written = write_schedule_csv(orders, folded_plan());
  // Of work that lacks its input gradients the dialect cannot be told.
  if (!check_schedule(toy_graph(), toy_platform(), folded_plan(), orders.schedule, orders.steps).empty()) return;
  const GivenOrders again = parse_schedule_csv(written, "written", folded_plan(), toy_platform());
  STAGECRAFT_CHECK(again.schedule == orders.schedule, "a table reads back");
}

void take_events(std::string_view input) {
  std::vector<NamedEvent> events;
  if (!takes([&] { events = parse_events(input, "input"); })) return;
  STAGECRAFT_CHECK(parse_events(write_events(events), "written") == events, "events read back");
  takes([&] { static_cast<void>(resolve_events(events, toy_platform())); });
}

void take_architecture(std::string_view input) {
  Architecture architecture;
  if (!takes([&] { architecture = parse_architecture(input, "input"); })) return;
  if (has_many_operators(architecture)) return;
  for (const Granularity granularity : {Granularity::Layer, Granularity::Residual, Granularity::Block}) {
    Model model;
    if (takes([&] { model = build_model(architecture, *find_device("V100-SXM2-16GB"), 2, granularity); })) {
      fuzz::follow(model);
    }
  }
}

void take_config(std::string_view input) {
  HfConfig config;
  if (!takes([&] { config = parse_hf_config(input, "input.json"); })) return;
  if (has_many_operators(config.network)) return;
  Model model;
  if (takes([&] { model = build_model(config.network, *find_device("V100-SXM2-16GB"), 2, Granularity::Block); })) {
    fuzz::follow(model);
  }
}

void take_device(std::string_view input) {
  static const Architecture kNetwork = *find_architecture("vgg16");
  DeviceDescription device;
  if (!takes([&] { device = parse_device(input, "input"); })) return;
  DeviceDescription again = parse_device(write_device(device), "written");
  again.summary = device.summary;
  STAGECRAFT_CHECK(again == device, "a device reads back");
  Model model;
  if (takes([&] { model = build_model(kNetwork, device, 2, Granularity::Block); })) fuzz::follow(model);
}

void take_steps(std::string_view input) {
  takes([&] { static_cast<void>(parse_measured_steps(input, "input.csv")); });
}

void take_pipedream(std::string_view input) {
  Model model;
  if (takes([&] { model = import_pipedream(input, "input.txt", 4, "A"); })) fuzz::follow(model);
  takes([&] {
    const PipedreamGraph graph = parse_pipedream_graph(input, "input.txt");
    static_cast<void>(pipedream_stages(graph, std::nullopt, toy_graph(), toy_platform()));
  });
  takes([&] { static_cast<void>(parse_pipedream_conf(input, "input.json")); });
}

void take_kineto(std::string_view input) {
  KinetoTrace trace;
  if (!takes([&] { trace = parse_kineto_trace(input, "input.json"); })) return;
  TransferTable transfers;
  transfers.add(trace);
  static_cast<void>(transfers.kinds());
  takes([&] {
    const KinetoProfile profile = profile_kineto(trace, {});
    Nanoseconds sum = 0;
    for (const KernelSum& part : profile.unattributed) sum += part.time;
    for (const KinetoLayer& layer : profile.layers) sum += layer.forward.time + layer.backward.time;
    STAGECRAFT_CHECK(sum == profile.kernels.time, "the time of all kernels is told");
    fuzz::follow(kineto_model({profile}, {4, "A", true}));
  });
}

void take_nccl(std::string_view input) {
  takes([&] { static_cast<void>(parse_nccl_tests(input, "input.txt")); });
}

void take_topo(std::string_view input) {
  constexpr std::size_t kManyGpus = 32;
  TopoMatrix matrix;
  if (!takes([&] { matrix = parse_nvidia_topo(input, "input.txt"); }) || matrix.gpus.size() > kManyGpus) return;
  for (const bool is_regular : {false, true}) {
    TopoMachine machine{"node", {}, *find_device_links("A100-SXM4-40GB")};
    machine.kind.name = "A100-SXM4-40GB";
    machine.kind.memory = Bytes(1 << 30);
    if (is_regular && !matrix.nics.empty()) machine.nic = BytesPerSecond(25e9);
    if (is_regular) machine.host_memory = Bytes(1 << 30);
    PlatformSpec spec;
    if (!takes([&] { spec = topo_platform(matrix, machine).spec; })) continue;
    STAGECRAFT_CHECK(parse_platform(write_platform(spec), "written") == spec, "an imported platform reads back");
    fuzz::follow(spec);
  }
}

/// Either format: no text is of both.
void take_network(std::string_view input) {
  constexpr std::size_t kManyNodes = 64;
  DeviceKind kind;
  kind.name = "A";
  kind.memory = Bytes(1 << 30);
  PlatformSpec spec;
  const bool is_simai = takes([&] {
    const SimaiTopology topology = parse_simai_topo(input, "input.txt");
    if (topology.nodes.size() > kManyNodes) throw InputError("too large");
    spec = simai_platform(topology, "x", kind).spec;
  });
  if (!is_simai && !takes([&] {
        const AstraNetwork network = parse_astra_network(input, "input.yaml");
        std::size_t npus = 1;
        for (const AstraNetwork::Dimension& dimension : network.dimensions) npus *= dimension.count;
        if (npus > kManyNodes) throw InputError("too large");
        spec = astra_platform(network, "x", kind).spec;
      })) {
    return;
  }
  STAGECRAFT_CHECK(parse_platform(write_platform(spec), "written") == spec, "an imported platform reads back");
  fuzz::follow(spec);
}

void take_xml(std::string_view input) {
  constexpr std::size_t kManyGpus = 32;
  NcclTopology topology;
  if (!takes([&] { topology = parse_nccl_topology(input, "input.xml"); }) || topology.gpus.size() > kManyGpus) return;
  for (const std::uint32_t nodes : {1U, 2U}) {
    NcclMachine machine{"node", {}, {}, nodes};
    machine.kind.name = "A";
    machine.kind.memory = Bytes(1 << 30);
    PlatformSpec spec;
    if (!takes([&] { spec = nccl_platform(topology, machine).spec; })) continue;
    STAGECRAFT_CHECK(parse_platform(write_platform(spec), "written") == spec, "an imported platform reads back");
    fuzz::follow(spec);
  }
}

void take_document(std::string_view input) {
  constexpr std::size_t kMostToReadBack = 1 << 20;
  Detail value;
  if (!takes([&] { value = read_detail(parse_yaml(input, "input")); }) || !is_finite(value)) return;
  const std::string json = to_json(value);
  if (json.size() > kMostToReadBack) return;  // aliases make much of little, as they may; reading that takes its time
  STAGECRAFT_CHECK(read_detail(parse_yaml(json, "written")) == value, "a value reads back from JSON");
  if (const auto* record = std::get_if<Detail::Record>(&value.value)) {
    STAGECRAFT_CHECK(read_detail(parse_yaml(to_yaml(*record), "written")) == value, "a value reads back from YAML");
  }
}

}  // namespace stagecraft::fuzz
