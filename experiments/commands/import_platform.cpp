#include "experiments/commands/import_platform.hpp"

#include "experiments/commands/named_device.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/written_file.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/io/import_astra_network.hpp"
#include "sim/io/import_nccl_topology.hpp"
#include "sim/io/import_nvidia_topo.hpp"
#include "sim/io/import_simai_topo.hpp"
#include "sim/io/json.hpp"
#include "sim/io/nccl_platform.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/platform_topology.hpp"
#include "sim/io/simai_platform.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/topo_platform.hpp"
#include "sim/model/platform.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/device_links.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

const InputPlace kNodesOption{"", 0, 0, "--nodes"};

/// A kind of the catalogue, without a speed: that of other kinds is not known.
DeviceKind kind_of(const DeviceDescription& device) {
  DeviceKind kind;
  kind.name = device.name;
  kind.memory = device.memory;
  kind.update_bandwidth = device.memory_bandwidth;
  return kind;
}

std::string platform_name(const PlatformImport& import) {
  const std::string stem = file_stem(import.file);
  return stem.empty() ? "node" : stem;
}

/// What options say of a machine, for a file of so many GPUs.
struct GivenMachine {
  std::uint32_t nodes = 1;
  std::optional<BytesPerSecond> nic;
  std::optional<Bytes> host_memory;
};

GivenMachine given_machine(const PlatformImport& import, std::size_t gpus) {
  GivenMachine given;
  const std::int64_t most_nodes = kMostDevices / static_cast<std::int64_t>(gpus);
  given.nodes = static_cast<std::uint32_t>(read_count_option("--nodes", import.nodes, 1, most_nodes).value_or(1));
  if (import.nic_bandwidth) given.nic = read_bandwidth_option("--nic-bandwidth", *import.nic_bandwidth);
  if (import.host_memory) given.host_memory = read_size_option("--host-memory", *import.host_memory);
  return given;
}

TopoMachine machine_of(const PlatformImport& import, std::size_t gpus) {
  std::vector<std::string> known;
  for (const WorkloadInfo& device : known_devices()) known.push_back(device.name);
  const std::string name = read_choice_option("--device", import.device, known);
  const GivenMachine given = given_machine(import, gpus);
  if (given.nodes > 1 && !given.nic) {
    throw InputError("--nic-bandwidth is required for several nodes", {}, "see stagecraft import --help");
  }
  return {platform_name(import), kind_of(*find_device(name)), *find_device_links(name), given.nodes, given.nic,
          given.host_memory};
}

/// Refuses nodes that have more links together than a platform may have, at that place.
void check_links(const PlatformSpec& spec, const InputPlace& place) {
  const auto* form = std::get_if<NodeForm>(&spec.form);
  if (form == nullptr || count_links(*form) <= kMostLinks) return;
  throw InputError(
      "expected at most " + std::to_string(kMostLinks) + " links in all, found " + std::to_string(count_links(*form)),
      place, kPart);
}

std::int64_t node_count(const PlatformSpec& spec) {
  if (const auto* form = std::get_if<ExplicitForm>(&spec.form))
    return std::max<std::int64_t>(1, std::ssize(form->nodes));
  std::int64_t nodes = 0;
  for (const NodeGroup& group : std::get<NodeForm>(spec.form).groups) nodes += group.count;
  return nodes;
}

std::int64_t device_count(const PlatformSpec& spec) {
  if (const auto* form = std::get_if<ExplicitForm>(&spec.form)) return std::ssize(form->devices);
  const auto& form = std::get<NodeForm>(spec.form);
  std::int64_t devices = 0;
  for (const NodeGroup& group : form.groups) {
    devices += std::int64_t{form.node_kinds[group.kind].device_count} * group.count;
  }
  return devices;
}

/// The file with its remarks as comments before it.
std::string commented(const std::vector<std::string>& remarks, const std::string& yaml) {
  std::string text;
  for (const std::string& remark : remarks) text += "# " + remark + "\n";
  return text + yaml;
}

Answer answer_of(const PlatformImport& import, const std::string& first_remark, const DeviceDescription& device,
                 TopoPlatform platform, const InputPlace& place) {
  check_links(platform.spec, place);
  if (find_device(import.device)) {
    platform.spec.origins.updates = Origin::Published;
  } else {
    for (DeviceKind& kind : platform.spec.device_kinds) kind.device_file = path_beside(import.output, import.device);
  }
  platform.remarks.insert(platform.remarks.begin(),
                          {first_remark, "memory, update_bandwidth: those of " + device.name + "; " + device.source,
                           "reserved: nothing, assumed; what the driver and the framework take belongs there"});
  const std::string yaml = commented(platform.remarks, write_platform(platform.spec));
  const std::string json = to_json(platform_record(platform.spec));
  if (!names_file(import.output)) return {.text = yaml, .json = json};
  write_file_atomically(*import.output, import.output->ends_with(".json") ? json + "\n" : yaml);
  const std::int64_t nodes = node_count(platform.spec);
  const std::int64_t devices = device_count(platform.spec);
  Detail::List remarks(platform.remarks.begin(), platform.remarks.end());
  return {.text = *import.output + ": " + counted(devices, "device") + " " + device.name + " on " +
                  counted(nodes, "node") + "; comments say what is assumed\n",
          .json = to_json(Detail::Record{{"file", *import.output},
                                         {"platform", platform.spec.name},
                                         {"devices", devices},
                                         {"nodes", nodes},
                                         {"remarks", std::move(remarks)}})};
}

}  // namespace

Answer import_topo(const PlatformImport& import) {
  refuse_overwriting(import.output, OutputKind::PlatformFile, {import.file});
  const TopoMatrix matrix = parse_nvidia_topo(read_bytes_file(import.file), import.file);
  const TopoMachine machine = machine_of(import, matrix.gpus.size());
  return answer_of(import, "Made of what nvidia-smi topo -m prints, which has no numbers.",
                   *find_device(machine.kind.name), topo_platform(matrix, machine), kNodesOption);
}

Answer import_nccl_topology(const PlatformImport& import, const Settings& settings) {
  refuse_overwriting(import.output, OutputKind::PlatformFile, {import.file});
  const NcclTopology topology = parse_nccl_topology(read_bytes_file(import.file), import.file);
  const DeviceDescription device = load_device(import.device, settings);
  const GivenMachine given = given_machine(import, topology.gpus.size());
  const NcclMachine machine{platform_name(import), kind_of(device), find_device_links(device.name),
                            given.nodes,           given.nic,       given.host_memory};
  TopoPlatform platform = nccl_platform(topology, machine);
  if (const auto why = why_pcie_alone(topology)) settings.say("note: " + *why + "; the platform has PCIe alone");
  return answer_of(import, "Made of the topology that NCCL writes.", device, std::move(platform), kNodesOption);
}

Answer import_simai_topo(const PlatformImport& import, const Settings& settings) {
  refuse_overwriting(import.output, OutputKind::PlatformFile, {import.file});
  const SimaiTopology topology = parse_simai_topo(read_bytes_file(import.file), import.file);
  const DeviceDescription device = load_device(import.device, settings);
  return answer_of(import, "Made of a network of SimAI.", device,
                   simai_platform(topology, platform_name(import), kind_of(device)), {import.file, 1, 0, ""});
}

Answer import_astra_network(const PlatformImport& import, const Settings& settings) {
  refuse_overwriting(import.output, OutputKind::PlatformFile, {import.file});
  const AstraNetwork network = parse_astra_network(read_bytes_file(import.file), import.file);
  const DeviceDescription device = load_device(import.device, settings);
  if (!is_astra_platform(network)) {
    throw InputError("expected one dimension, or a second one of the shape Switch, or at most " +
                         std::to_string(kMostAstraRouted) + " NPUs, which are described link by link",
                     {import.file, 0, 0, "topology"}, kPart);
  }
  TopoPlatform platform = astra_platform(network, platform_name(import), kind_of(device));
  return answer_of(import, "Made of a network of ASTRA-sim.", device, std::move(platform),
                   {import.file, 0, 0, "npus_count"});
}

}  // namespace stagecraft
