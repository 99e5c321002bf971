#include "sim/workload/catalogue.hpp"

#include "sim/workload/transformer.hpp"
#include "sim/workload/vgg.hpp"

#include <algorithm>
#include <array>

namespace stagecraft {
namespace {

// Sizes: BERT, table 1 of arXiv:1810.04805 and its published configuration files (uncased, 30522 word pieces); GPT-2,
// table 2 of the GPT-2 paper and the hparams.json of the published weights (50257 tokens, 1024 positions).
constexpr TransformerSize kBertBase{.layers = 12, .hidden = 768, .heads = 12};
constexpr TransformerSize kBertLarge{.layers = 24, .hidden = 1024, .heads = 16};

constexpr TransformerSize gpt2(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  return {.layers = layers, .hidden = hidden, .heads = heads, .sequence = 1024, .vocabulary = 50257, .positions = 1024};
}

struct KnownArchitecture {
  const char* name;
  Architecture (*make)(const std::string& name);
};

constexpr auto kArchitectures = std::to_array<KnownArchitecture>({
    {"vgg16", [](const std::string& name) { return vgg(name, vgg16_size()); }},
    {"bert-base", [](const std::string& name) { return bert(name, kBertBase, BertHead::Pooler); }},
    {"bert-large", [](const std::string& name) { return bert(name, kBertLarge, BertHead::Pooler); }},
    {"bert-base-pretraining", [](const std::string& name) { return bert(name, kBertBase, BertHead::Pretraining); }},
    {"bert-large-pretraining", [](const std::string& name) { return bert(name, kBertLarge, BertHead::Pretraining); }},
    {"gpt2-small", [](const std::string& name) { return gpt(name, gpt2(12, 768, 12)); }},
    {"gpt2-medium", [](const std::string& name) { return gpt(name, gpt2(24, 1024, 16)); }},
    {"gpt2-large", [](const std::string& name) { return gpt(name, gpt2(36, 1280, 20)); }},
    {"gpt2-xl", [](const std::string& name) { return gpt(name, gpt2(48, 1600, 25)); }},
});

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr std::int64_t kGibi = std::int64_t{1} << 30;
constexpr Seconds kLaunchOverhead{5e-6};  ///< assumed; data sheets do not tell
/// Assumed: tensor cores reach a smaller share of their much higher peak than ordinary cores do.
constexpr Efficiency kTensorCoreEfficiency{.convolution = 0.5, .linear = 0.6, .matmul = 0.4, .memory = 0.8};

/// NVIDIA Tesla V100 GPU Accelerator data sheet (2018), column "V100 for NVLink": 15.7 TFLOPS single precision, 125
/// TFLOPS tensor, 16 GB HBM2 at 900 GB/s. Volta has no TF32.
DeviceDescription v100_sxm2_16gb() {
  return {.name = "V100-SXM2-16GB",
          .summary = "NVIDIA Tesla V100 for NVLink, 16 GB, computing in fp32",
          .source = "NVIDIA Tesla V100 GPU Accelerator data sheet, 2018",
          .fp32 = FlopsPerSecond(15.7 * kTera),
          .tf32 = FlopsPerSecond(0),
          .fp16 = FlopsPerSecond(125 * kTera),
          .memory_bandwidth = BytesPerSecond(900 * kGiga),
          .memory = Bytes(16 * kGibi),
          .launch_overhead = kLaunchOverhead,
          .precision = Precision::Fp32,
          .efficiency = {}};
}

/// NVIDIA A100 Tensor Core GPU data sheet (2020), column "A100 40GB SXM": 19.5 TFLOPS fp32, 156 TFLOPS TF32 and 312
/// TFLOPS fp16 without sparsity, 40 GB HBM2 at 1,555 GB/s.
DeviceDescription a100_sxm4_40gb() {
  return {.name = "A100-SXM4-40GB",
          .summary = "NVIDIA A100 SXM, 40 GB, computing in TF32",
          .source = "NVIDIA A100 Tensor Core GPU data sheet, 2020",
          .fp32 = FlopsPerSecond(19.5 * kTera),
          .tf32 = FlopsPerSecond(156 * kTera),
          .fp16 = FlopsPerSecond(312 * kTera),
          .memory_bandwidth = BytesPerSecond(1555 * kGiga),
          .memory = Bytes(40 * kGibi),
          .launch_overhead = kLaunchOverhead,
          .precision = Precision::Tf32,
          .efficiency = kTensorCoreEfficiency};
}

using MakeDevice = DeviceDescription (*)();
constexpr std::array<MakeDevice, 2> kDevices = {v100_sxm2_16gb, a100_sxm4_40gb};

}  // namespace

std::vector<WorkloadInfo> known_architectures() {
  std::vector<WorkloadInfo> list;
  for (const KnownArchitecture& known : kArchitectures) {
    const Architecture net = known.make(known.name);
    list.push_back({net.name, net.summary, net.source});
  }
  return list;
}

std::vector<WorkloadInfo> known_devices() {
  std::vector<WorkloadInfo> list;
  for (const MakeDevice make : kDevices) {
    const DeviceDescription device = make();
    list.push_back({device.name, device.summary, device.source});
  }
  return list;
}

std::optional<Architecture> find_architecture(std::string_view name) {
  const auto known =
      std::ranges::find(kArchitectures, name, [](const KnownArchitecture& k) { return std::string_view(k.name); });
  if (known == kArchitectures.end()) return std::nullopt;
  return known->make(known->name);
}

std::optional<DeviceDescription> find_device(std::string_view name) {
  for (const MakeDevice make : kDevices) {
    DeviceDescription device = make();
    if (device.name == name) return device;
  }
  return std::nullopt;
}

}  // namespace stagecraft
