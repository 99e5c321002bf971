#include "experiments/view/description.hpp"
#include "experiments/view/table.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"

#include <set>
#include <string>

namespace stagecraft {
namespace {

std::size_t distinct(const Architecture& network, std::string Operator::* name) {
  std::set<std::string> names;
  for (const Operator& each : network.operators) names.insert(each.*name);
  return names.size();
}

std::string rate_text(FlopsPerSecond rate) {
  constexpr double kTera = 1e12;
  return rate > FlopsPerSecond(0) ? short_number(rate.value() / kTera) + " Tflop/s" : "not available";
}

Detail rate(FlopsPerSecond value) { return value > FlopsPerSecond(0) ? Detail(value.value()) : Detail(); }

/// What the time of a product, of a block and of a loss depends on beside operations and bytes; empty if on nothing.
std::string shape_text(const DeviceDescription& device) {
  std::string text;
  if (device.tiling.processors > 0) {
    text += "products with weights: tiles on " + std::to_string(device.tiling.processors) +
            " multiprocessors, each as long as " + short_number(device.tiling.fill) + " more inner values, " +
            percent(device.tiling.whole_waves) + " of the last wave whole; odd rows take " +
            percent(device.tiling.odd_rows) + " more\n";
  }
  if (device.host.time > Seconds(0)) {
    text += "the host launches a kernel in " + format_human_seconds(device.host.time) + ", " +
            percent(device.host.jitter) + " more for each doubling of a tensor group\n";
  }
  if (device.loss_traffic > 0) {
    text += "a loss moves " + short_number(device.loss_traffic) + " B for each logit in the forward\n";
  }
  return text + "constants: " + (device.fit.empty() ? "assumed" : device.fit) + "\n";
}

}  // namespace

Description describe_architecture(const Architecture& network) {
  constexpr double kGiga = 1e9;
  const std::size_t layers = distinct(network, &Operator::layer);
  const std::size_t blocks = distinct(network, &Operator::block);
  const double flops = forward_flops(network).value();
  std::string text = "architecture " + network.name + ": " + counted(network.operators.size(), "operator") + " in " +
                     counted(layers, "layer") + " and " + counted(blocks, "block") + "\n";
  if (!network.summary.empty()) text += network.summary + "\n";
  text += "source: " + network.source + "\n" + counted(parameter_count(network), "parameter");
  if (const std::int64_t tied = tied_parameter_count(network); tied > 0) {
    text += " and " + counted(tied, "tied copy");
  }
  const std::int64_t active = active_parameter_count(network);
  if (active < parameter_count(network)) text += ", of which a token uses " + std::to_string(active);
  text += "; per sample: " + short_number(flops / kGiga) + " Gflop in the forward pass, ";
  const double masked = masked_flops(network).value();
  if (masked > 0) text += short_number((flops - masked) / kGiga) + " without what a causal mask hides, ";
  text += format_human_bytes(Bytes(network.input_bytes)) + " of input\n";
  return {text,
          {{"kind", "architecture"},
           {"name", network.name},
           {"source", network.source},
           {"operators", static_cast<std::int64_t>(network.operators.size())},
           {"layers", static_cast<std::int64_t>(layers)},
           {"blocks", static_cast<std::int64_t>(blocks)},
           {"parameters", parameter_count(network)},
           {"active_parameters", active},
           {"tied_parameters", tied_parameter_count(network)},
           {"forward_flops_per_sample", flops},
           {"masked_flops_per_sample", masked},
           {"input_bytes_per_sample", network.input_bytes}}};
}

Description describe_device(const DeviceDescription& device) {
  const std::string head = "device " + device.name + ": " + format_human_bytes(device.memory) + " of memory at " +
                           format_human_bandwidth(device.memory_bandwidth) + "\n" +
                           (device.summary.empty() ? "" : device.summary + "\n") + "source: " + device.source + "\n";
  const std::string peaks = "matrix products: fp32 " + rate_text(device.fp32) + ", tf32 " + rate_text(device.tf32) +
                            ", fp16 " + rate_text(device.fp16) + ", bf16 " + rate_text(device.bf16) + ", fp8 " +
                            rate_text(device.fp8) + "; profiles are computed in " + to_string(device.precision) + "\n";
  const Efficiency& share = device.efficiency;
  const std::string reached = "reached of these peaks: " + percent(share.convolution) + " in convolutions, " +
                              percent(device.precision == Precision::Fp8 ? share.linear8 : share.linear) +
                              " in linear layers, " + percent(share.matmul) + " in batched products, " +
                              percent(share.attention) + " in fused attention; " + percent(share.memory) +
                              " of the memory bandwidth; starting a kernel takes " +
                              format_human_seconds(device.launch_overhead) + "\n";
  return {head + peaks + reached + shape_text(device),
          {{"kind", "device"},
           {"name", device.name},
           {"source", device.source},
           {"fp32_flops", rate(device.fp32)},
           {"tf32_flops", rate(device.tf32)},
           {"fp16_flops", rate(device.fp16)},
           {"bf16_flops", rate(device.bf16)},
           {"fp8_flops", rate(device.fp8)},
           {"precision", to_string(device.precision)},
           {"memory_bytes", device.memory.value()},
           {"memory_bandwidth_bytes_per_s", device.memory_bandwidth.value()},
           {"launch_overhead_s", device.launch_overhead.value()},
           {"efficiency", Detail::Record{{"convolution", share.convolution},
                                         {"linear", share.linear},
                                         {"fp8", share.linear8},
                                         {"matmul", share.matmul},
                                         {"attention", share.attention},
                                         {"memory", share.memory}}},
           {"products", Detail::Record{{"processors", device.tiling.processors},
                                       {"fill", device.tiling.fill},
                                       {"whole_waves", device.tiling.whole_waves},
                                       {"odd_rows", device.tiling.odd_rows}}},
           {"host", Detail::Record{{"launch_s", device.host.time.value()}, {"jitter", device.host.jitter}}},
           {"loss_traffic_bytes", device.loss_traffic},
           {"fit", device.fit}}};
}

}  // namespace stagecraft
