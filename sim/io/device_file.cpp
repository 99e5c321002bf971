#include "sim/io/device_file.hpp"

#include "sim/io/yaml_values.hpp"

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr double kMostOfUnbounded = 1e6;  ///< of what has no bound by its meaning
constexpr Seconds kUsualLaunchOverhead{5e-6};

double read_share(const YamlNode& node) {
  const double share = read_positive_number(node);
  if (share > 1.0) node.fail_expected("a share of the peak, at most 1");
  return share;
}

/// Where attention is not given, it is as efficient as products of activations; products in 8 bit as those in 16.
Efficiency read_efficiency(const YamlNode& node) {
  node.allow_keys({"convolution", "linear", "fp8", "matmul", "attention", "memory"});
  Efficiency efficiency;
  if (const auto share = node.find("convolution")) efficiency.convolution = read_share(*share);
  if (const auto share = node.find("linear")) efficiency.linear = efficiency.linear8 = read_share(*share);
  if (const auto share = node.find("fp8")) efficiency.linear8 = read_share(*share);
  if (const auto share = node.find("matmul")) efficiency.matmul = efficiency.attention = read_share(*share);
  if (const auto share = node.find("attention")) efficiency.attention = read_share(*share);
  if (const auto share = node.find("memory")) efficiency.memory = read_share(*share);
  return efficiency;
}

FlopsPerSecond read_rate(const YamlNode& node) {
  const FlopsPerSecond rate = read_flops_rate(node);
  if (rate < FlopsPerSecond(1)) node.fail_expected("a rate of at least 1 FLOPS");
  return rate;
}

Seconds read_launch(const YamlNode& node) {
  const Seconds time = read_seconds(node);
  if (time > Seconds(1000)) node.fail_expected("a time of at most 1000 s");
  return time;
}

double read_up_to(const YamlNode& node, double most) {
  const double number = read_number(node);
  if (number > most) node.fail_expected(fmt::format("a number from 0 to {}", most));
  return number;
}

Tiling read_tiling(const YamlNode& node) {
  constexpr std::int64_t kMostProcessors = 1'000'000;
  node.allow_keys({"processors", "fill", "whole_waves", "odd_rows"});
  Tiling tiling;
  tiling.processors = read_count(node.at("processors"), 1, kMostProcessors);
  if (const auto fill = node.find("fill")) tiling.fill = read_up_to(*fill, kMostOfUnbounded);
  if (const auto share = node.find("whole_waves")) tiling.whole_waves = read_up_to(*share, 1.0);
  if (const auto part = node.find("odd_rows")) tiling.odd_rows = read_up_to(*part, kMostOfUnbounded);
  return tiling;
}

HostLaunches read_host(const YamlNode& node) {
  node.allow_keys({"launch", "jitter"});
  HostLaunches host;
  host.time = read_launch(node.at("launch"));
  if (const auto jitter = node.find("jitter")) host.jitter = read_up_to(*jitter, kMostOfUnbounded);
  return host;
}

/// Of one logit on average, so that it may have a part of a byte.
double read_traffic(const YamlNode& node) {
  constexpr std::string_view kByte = " B";
  double traffic = 0;
  const bool has_unit = node.kind() == YamlKind::Text && node.text().ends_with(kByte);
  const Parsed<double> bytes = parse_number(has_unit ? node.text().substr(0, node.text().size() - kByte.size()) : "");
  if (bytes && *bytes.value <= kMostOfUnbounded) {
    traffic = *bytes.value;
  } else {
    traffic = static_cast<double>(read_bytes(node).value());
  }
  if (traffic <= 0) node.fail_expected("a size of more than zero");
  return traffic;
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
                   "precision", "launch_overhead", "efficiency", "products", "host", "loss_traffic", "fit"});
  DeviceDescription device;
  device.name = read_name(root.at("device"));
  device.source = read_text(root.at("source"));
  const YamlNode memory = root.at("memory");
  device.memory = read_bytes(memory);
  if (device.memory == Bytes(0)) memory.fail_expected("a size of more than zero");
  const YamlNode bandwidth = root.at("memory_bandwidth");
  device.memory_bandwidth = read_bandwidth(bandwidth);
  if (device.memory_bandwidth < BytesPerSecond(1)) bandwidth.fail_expected("a bandwidth of at least 1 Bps");
  device.fp32 = read_rate(root.at("fp32"));
  if (const auto rate = root.find("tf32")) device.tf32 = read_rate(*rate);
  if (const auto rate = root.find("fp16")) device.fp16 = read_rate(*rate);
  if (const auto rate = root.find("bf16")) device.bf16 = read_rate(*rate);
  if (const auto rate = root.find("fp8")) {
    device.fp8 = read_rate(*rate);
    if (device.fp16 <= FlopsPerSecond(0) && device.bf16 <= FlopsPerSecond(0)) {
      rate->fail("a device with an fp8 rate needs a 16-bit one", "give the key 'bf16' or 'fp16' too");
    }
  }
  if (const auto precision = root.find("precision")) device.precision = read_precision(*precision, device);
  const auto overhead = root.find("launch_overhead");
  device.launch_overhead = overhead ? read_launch(*overhead) : kUsualLaunchOverhead;
  if (const auto efficiency = root.find("efficiency")) device.efficiency = read_efficiency(*efficiency);
  if (const auto products = root.find("products")) device.tiling = read_tiling(*products);
  if (const auto host = root.find("host")) device.host = read_host(*host);
  if (const auto traffic = root.find("loss_traffic")) device.loss_traffic = read_traffic(*traffic);
  if (const auto fit = root.find("fit")) device.fit = read_name(*fit);
  device.summary = device.name + " of " + file_name + ", computing in " + to_string(device.precision);
  return device;
}

}  // namespace stagecraft
