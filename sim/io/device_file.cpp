#include "sim/io/device_file.hpp"

#include "sim/io/yaml_values.hpp"

#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr Seconds kUsualLaunchOverhead{5e-6};

double read_share(const YamlNode& node) {
  const double share = read_positive_number(node);
  if (share > 1.0) node.fail_expected("a share of the peak, at most 1");
  return share;
}

Efficiency read_efficiency(const YamlNode& node) {
  node.allow_keys({"convolution", "linear", "matmul", "memory"});
  Efficiency efficiency;
  if (const auto share = node.find("convolution")) efficiency.convolution = read_share(*share);
  if (const auto share = node.find("linear")) efficiency.linear = read_share(*share);
  if (const auto share = node.find("matmul")) efficiency.matmul = read_share(*share);
  if (const auto share = node.find("memory")) efficiency.memory = read_share(*share);
  return efficiency;
}

Precision read_precision(const YamlNode& node, const DeviceDescription& device) {
  std::vector<std::pair<std::string, Precision>> choices;
  for (const Precision precision : kAllPrecisions) choices.emplace_back(to_string(precision), precision);
  const auto precision = read_choice<Precision>(node, choices);
  if (rate_in(device, precision) <= FlopsPerSecond(0)) {
    node.fail("the precision " + quote(node.text()) + " needs the key " + quote(node.text()) + ", its peak rate");
  }
  return precision;
}

}  // namespace

DeviceDescription parse_device(std::string_view text, const std::string& file_name) {
  const YamlNode root = parse_yaml(text, file_name);
  check_schema(root, "stagecraft/device/1");
  root.allow_keys({"schema", "device", "source", "memory", "memory_bandwidth", "fp32", "tf32", "fp16", "bf16", "fp8",
                   "precision", "launch_overhead", "efficiency"});
  DeviceDescription device;
  device.name = read_name(root.at("device"));
  device.source = read_text(root.at("source"));
  const YamlNode memory = root.at("memory");
  device.memory = read_bytes(memory);
  if (device.memory == Bytes(0)) memory.fail_expected("a size of more than zero");
  device.memory_bandwidth = read_bandwidth(root.at("memory_bandwidth"));
  device.fp32 = read_flops_rate(root.at("fp32"));
  if (const auto rate = root.find("tf32")) device.tf32 = read_flops_rate(*rate);
  if (const auto rate = root.find("fp16")) device.fp16 = read_flops_rate(*rate);
  if (const auto rate = root.find("bf16")) device.bf16 = read_flops_rate(*rate);
  if (const auto rate = root.find("fp8")) {
    device.fp8 = read_flops_rate(*rate);
    if (device.fp16 <= FlopsPerSecond(0) && device.bf16 <= FlopsPerSecond(0)) {
      rate->fail("a device with an fp8 rate needs a 16-bit one", "give the key 'bf16' or 'fp16' too");
    }
  }
  if (const auto precision = root.find("precision")) device.precision = read_precision(*precision, device);
  const auto overhead = root.find("launch_overhead");
  device.launch_overhead = overhead ? read_moment(*overhead) : kUsualLaunchOverhead;
  if (const auto efficiency = root.find("efficiency")) device.efficiency = read_efficiency(*efficiency);
  device.summary = device.name + " of " + file_name + ", computing in " + to_string(device.precision);
  return device;
}

}  // namespace stagecraft
