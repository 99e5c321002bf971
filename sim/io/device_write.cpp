#include "sim/base/text.hpp"
#include "sim/io/device_file.hpp"
#include "sim/io/yaml_text.hpp"

#include <cstdint>

namespace stagecraft {
namespace {

std::string rate_text_of(FlopsPerSecond rate) {
  constexpr double kTera = 1e12;
  const std::string text = format_number(rate.value() / kTera) + " TFLOPS";
  const Parsed<FlopsPerSecond> back = parse_flops_rate(text);
  return back && *back.value == rate ? text : format_number(rate.value()) + " FLOPS";
}

/// A whole number of bytes as other sizes, a mean with its fraction.
std::string traffic_text(double bytes) {
  const auto whole = static_cast<std::int64_t>(bytes);
  return static_cast<double>(whole) == bytes ? format_bytes(Bytes(whole)) : format_number(bytes) + " B";
}

void add_rate(Detail::Record& record, const char* key, FlopsPerSecond rate) {
  if (rate > FlopsPerSecond(0)) record.emplace_back(key, rate_text_of(rate));
}

Detail efficiency_record(const Efficiency& share) {
  return Detail::Record{{"convolution", share.convolution}, {"linear", share.linear},       {"fp8", share.linear8},
                        {"matmul", share.matmul},           {"attention", share.attention}, {"memory", share.memory}};
}

Detail tiling_record(const Tiling& tiling) {
  return Detail::Record{{"processors", tiling.processors},
                        {"fill", tiling.fill},
                        {"whole_waves", tiling.whole_waves},
                        {"odd_rows", tiling.odd_rows}};
}

}  // namespace

std::string write_device(const DeviceDescription& device) {
  Detail::Record record{{"schema", "stagecraft/device/1"},
                        {"device", device.name},
                        {"source", device.source},
                        {"memory", format_whole_bytes(device.memory)},
                        {"memory_bandwidth", format_bandwidth(device.memory_bandwidth)},
                        {"fp32", rate_text_of(device.fp32)}};
  add_rate(record, "tf32", device.tf32);
  add_rate(record, "fp16", device.fp16);
  add_rate(record, "bf16", device.bf16);
  add_rate(record, "fp8", device.fp8);
  record.emplace_back("precision", to_string(device.precision));
  record.emplace_back("launch_overhead", format_seconds(device.launch_overhead));
  record.emplace_back("efficiency", efficiency_record(device.efficiency));
  if (device.tiling.processors > 0) record.emplace_back("products", tiling_record(device.tiling));
  if (device.host != HostLaunches()) {
    record.emplace_back("host",
                        Detail::Record{{"launch", format_seconds(device.host.time)}, {"jitter", device.host.jitter}});
  }
  if (device.loss_traffic > 0) record.emplace_back("loss_traffic", traffic_text(device.loss_traffic));
  if (!device.fit.empty()) record.emplace_back("fit", device.fit);
  return to_yaml(record);
}

}  // namespace stagecraft
