#include "experiments/measured/device_constants.hpp"

#include "sim/base/quantity.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft {
namespace {

constexpr double kNearestToOne = 1e-6;  ///< a share is at most so close to 1, where its coordinate would be infinite

template <auto Member>
DeviceConstant efficiency_constant(const char* name, const char* meaning) {
  return {.name = name,
          .meaning = meaning,
          .is_share = true,
          .get = [](const DeviceDescription& device) { return device.efficiency.*Member; },
          .set = [](DeviceDescription& device, double value) { device.efficiency.*Member = value; }};
}

template <auto Member>
DeviceConstant tiling_constant(const char* name, const char* meaning, bool is_share = false) {
  return {.name = name,
          .meaning = meaning,
          .is_share = is_share,
          .get = [](const DeviceDescription& device) { return device.tiling.*Member; },
          .set = [](DeviceDescription& device, double value) { device.tiling.*Member = value; }};
}

std::vector<DeviceConstant> make_constants() {
  return {
      efficiency_constant<&Efficiency::convolution>("convolution", "share of the peak that convolutions reach"),
      efficiency_constant<&Efficiency::linear>("linear", "share of the peak that products with weights reach"),
      efficiency_constant<&Efficiency::linear8>("fp8", "share of the peak in 8 bit that these reach"),
      efficiency_constant<&Efficiency::matmul>("matmul", "share of the peak that products of activations reach"),
      efficiency_constant<&Efficiency::attention>("attention", "share of the peak that fused attention reaches"),
      efficiency_constant<&Efficiency::memory>("memory", "share of the memory bandwidth that is reached"),
      tiling_constant<&Tiling::fill>("fill", "inner values that each tile of a product takes in addition"),
      tiling_constant<&Tiling::whole_waves>("whole_waves", "how much of the last wave of tiles is whole", true),
      tiling_constant<&Tiling::odd_rows>("odd_rows", "part of the time that odd rows of a product add"),
      {.name = "launch_overhead",
       .meaning = "time that each kernel takes in addition",
       .unit = ConstantUnit::OfTime,
       .get = [](const DeviceDescription& device) { return device.launch_overhead.value(); },
       .set = [](DeviceDescription& device, double value) { device.launch_overhead = Seconds(value); }},
      {.name = "launch",
       .meaning = "time in which the host launches a kernel",
       .unit = ConstantUnit::OfTime,
       .get = [](const DeviceDescription& device) { return device.host.time.value(); },
       .set = [](DeviceDescription& device, double value) { device.host.time = Seconds(value); }},
      {.name = "jitter",
       .meaning = "part of the launch that each doubling of a tensor group adds",
       .get = [](const DeviceDescription& device) { return device.host.jitter; },
       .set = [](DeviceDescription& device, double value) { device.host.jitter = value; }},
      {.name = "loss_traffic",
       .meaning = "what a loss over words moves for each logit",
       .unit = ConstantUnit::OfSize,
       .get = [](const DeviceDescription& device) { return device.loss_traffic; },
       .set = [](DeviceDescription& device, double value) { device.loss_traffic = value; }},
  };
}

}  // namespace

const std::vector<DeviceConstant>& all_device_constants() {
  static const std::vector<DeviceConstant> constants = make_constants();
  return constants;
}

const std::vector<std::string>& usual_constants() {
  static const std::vector<std::string> names = {"linear", "memory", "launch_overhead", "launch"};
  return names;
}

double coordinate_of(const DeviceConstant& constant, double value) {
  if (!constant.is_share) return std::log(value);
  const double share = std::min(value, 1.0 - kNearestToOne);
  return std::log(share / (1.0 - share));
}

double value_at(const DeviceConstant& constant, double coordinate) {
  return constant.is_share ? 1.0 / (1.0 + std::exp(-coordinate)) : std::exp(coordinate);
}

std::string constant_text(const DeviceConstant& constant, double value) {
  switch (constant.unit) {
    case ConstantUnit::OfTime: return format_human_seconds(Seconds(value));
    case ConstantUnit::OfSize: return short_number(value) + " B";
    case ConstantUnit::None: break;
  }
  return short_number(value);
}

}  // namespace stagecraft
