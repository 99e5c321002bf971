#include "sim/workload/sized_graph.hpp"

#include "sim/workload/build_model.hpp"

namespace stagecraft {

LayerGraph sized_graph(const Architecture& network, const SizedProfile& profile) {
  DeviceDescription device;
  device.name = profile.device_kind;
  device.fp32 = device.tf32 = device.fp16 = device.bf16 = device.fp8 = FlopsPerSecond(1e15);
  device.memory_bandwidth = BytesPerSecond(1e15);
  device.precision = profile.precision;
  return build_model(network, device, profile.samples, Granularity::Block).profiles.front();
}

}  // namespace stagecraft
