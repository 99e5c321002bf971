#include "experiments/commands/import_platform.hpp"

#include "experiments/run/option_text.hpp"
#include "experiments/run/written_file.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/io/import_nvidia_topo.hpp"
#include "sim/io/json.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/platform_topology.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/topo_platform.hpp"
#include "sim/model/platform.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/device_links.hpp"

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

/// A kind of the catalogue, without a speed: that of other kinds is not known.
DeviceKind kind_of(const DeviceDescription& device) {
  DeviceKind kind;
  kind.name = device.name;
  kind.memory = device.memory;
  kind.update_bandwidth = device.memory_bandwidth;
  return kind;
}

TopoMachine machine_of(const PlatformImport& import, std::int64_t most_nodes) {
  std::vector<std::string> known;
  for (const WorkloadInfo& device : known_devices()) known.push_back(device.name);
  const std::string name = read_choice_option("--device", import.device, known);
  TopoMachine machine{file_stem(import.file), kind_of(*find_device(name)), *find_device_links(name)};
  if (machine.platform.empty()) machine.platform = "node";
  machine.nodes = static_cast<std::uint32_t>(read_count_option("--nodes", import.nodes, 1, most_nodes).value_or(1));
  if (import.nic_bandwidth) machine.nic = read_bandwidth_option("--nic-bandwidth", *import.nic_bandwidth);
  if (import.host_memory) machine.host_memory = read_size_option("--host-memory", *import.host_memory);
  if (machine.nodes > 1 && !machine.nic) {
    throw InputError("--nic-bandwidth is required for several nodes", {}, "see stagecraft import --help");
  }
  return machine;
}

/// Refuses nodes that have more links together than a platform may have.
void check_links(const PlatformSpec& spec) {
  const auto* form = std::get_if<NodeForm>(&spec.form);
  if (form == nullptr || count_links(*form) <= kMostLinks) return;
  throw InputError(
      "expected at most " + std::to_string(kMostLinks) + " links in all, found " + std::to_string(count_links(*form)),
      {"", 0, 0, "--nodes"}, "describe a part of the cluster");
}

/// The file with its remarks as comments before it.
std::string commented(const std::vector<std::string>& remarks, const std::string& yaml) {
  std::string text;
  for (const std::string& remark : remarks) text += "# " + remark + "\n";
  return text + yaml;
}

}  // namespace

Answer import_topo(const PlatformImport& import) {
  refuse_overwriting(import.output, OutputKind::PlatformFile, {import.file});
  const TopoMatrix matrix = parse_nvidia_topo(read_bytes_file(import.file), import.file);
  const TopoMachine machine = machine_of(import, kMostDevices / std::ssize(matrix.gpus));
  TopoPlatform platform = topo_platform(matrix, machine);
  check_links(platform.spec);
  platform.spec.origins.updates = Origin::Published;
  const std::string source = find_device(machine.kind.name)->source;
  platform.remarks.insert(platform.remarks.begin(),
                          {"Made of what nvidia-smi topo -m prints, which has no numbers.",
                           "memory, update_bandwidth: those of " + machine.kind.name + "; " + source,
                           "reserved: nothing, assumed; what the driver and the framework take belongs there"});
  const std::string yaml = commented(platform.remarks, write_platform(platform.spec));
  const std::string json = to_json(platform_record(platform.spec));
  if (!names_file(import.output)) return {.text = yaml, .json = json};
  write_file_atomically(*import.output, import.output->ends_with(".json") ? json + "\n" : yaml);
  const auto devices = static_cast<std::int64_t>(matrix.gpus.size()) * machine.nodes;
  Detail::List remarks(platform.remarks.begin(), platform.remarks.end());
  return {.text = *import.output + ": " + counted(devices, "device") + " " + machine.kind.name + " on " +
                  counted(machine.nodes, "node") + "; comments say what is assumed\n",
          .json = to_json(Detail::Record{{"file", *import.output},
                                         {"platform", platform.spec.name},
                                         {"devices", devices},
                                         {"nodes", std::int64_t{machine.nodes}},
                                         {"remarks", std::move(remarks)}})};
}

}  // namespace stagecraft
