#include "sim/workload/device_constants.hpp"

#include <array>
#include <string>

namespace stagecraft {
namespace {

/// Where a figure is marked as assumed, no published step tells it apart from the others.
struct Constants {
  FittedKind kind;
  const char* name;
  const char* rows;  ///< what they were fitted to
  double linear;
  double linear8;
  double matmul;
  double attention;
  double memory;
  double fill;
  double whole_waves;
  double odd_rows;
  double kernel_us;
  double launch_us;
  double jitter;
  double loss_traffic;
};

constexpr auto kConstants = std::to_array<Constants>({
    // assumed: linear8, attention, whole_waves, odd_rows
    {FittedKind::V100, "V100", "14 of Jean Zay, 22 of DLPerf, 50 of LiBai", 0.70, 0.6, 0.86, 0.5, 0.80, 230, 0.7, 0.5,
     2.3, 31, 0.05, 4.2},
    // assumed: linear8, attention
    {FittedKind::A100, "A100", "965 of vTrain, 75 of BLOOM, 18 of Megatron-LM", 0.80, 0.6, 0.22, 0.5, 0.95, 14, 0.78,
     4.0, 20, 73, 0.068, 120},
    // assumed: matmul, odd_rows, launch_us, jitter, loss_traffic
    {FittedKind::H100, "H100", "90 of NVIDIA's DGX Cloud, NeMo, Megatron-LM and Megatron-Bridge", 0.70, 0.66, 0.5, 0.80,
     0.50, 96, 0.60, 0.5, 15, 8, 0.05, 10},
    // assumed: linear8, matmul, whole_waves, odd_rows, launch_us, jitter, loss_traffic
    {FittedKind::B200, "B200", "26 of SimuMax", 0.52, 0.6, 0.5, 0.40, 0.95, 1100, 0.7, 0.5, 1.8, 8, 0.05, 10},
    // assumed: matmul, whole_waves, odd_rows, launch_us, jitter, loss_traffic
    {FittedKind::Gb200, "GB200", "53 of NVIDIA's DGX Cloud and Megatron-Bridge", 0.62, 0.51, 0.5, 0.38, 0.89, 1900, 0.7,
     0.5, 1.8, 8, 0.05, 10},
});

constexpr double kMicro = 1e-6;

}  // namespace

void set_constants(DeviceDescription& device, FittedKind kind, std::int64_t processors, bool is_other) {
  for (const Constants& of : kConstants) {
    if (of.kind != kind) continue;
    device.efficiency.linear = of.linear;
    device.efficiency.linear8 = of.linear8;
    device.efficiency.matmul = of.matmul;
    device.efficiency.attention = of.attention;
    device.efficiency.memory = of.memory;
    device.tiling = {processors, of.fill, of.whole_waves, of.odd_rows};
    device.launch_overhead = Seconds(of.kernel_us * kMicro);
    device.host = {Seconds(of.launch_us * kMicro), of.jitter};
    device.loss_traffic = of.loss_traffic;
    const std::string fit = std::string("fitted to published training steps on ") + of.name + ": " + of.rows;
    device.fit = is_other ? "assumed to be those of " + std::string(of.name) + ", " + fit : fit;
  }
}

}  // namespace stagecraft
