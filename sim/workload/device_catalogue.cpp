#include "sim/workload/catalogue.hpp"
#include "sim/workload/device_constants.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

namespace stagecraft {
namespace {

constexpr Seconds kLaunchOverhead{5e-6};  ///< assumed; data sheets do not tell
/// Assumed: tensor cores reach a smaller share of their much higher peak than ordinary cores do.
constexpr Efficiency kTensorCoreEfficiency{
    .convolution = 0.5, .linear = 0.6, .linear8 = 0.6, .matmul = 0.4, .attention = 0.4, .memory = 0.8};

/// The published figures of one kind; a peak rate of 0: it has no such mode.
struct KnownDevice {
  const char* name;
  const char* summary;
  const char* source;
  double fp32_tera;
  double tf32_tera;
  double fp16_tera;
  double bf16_tera;
  double fp8_tera;
  double memory_giga_per_second;
  std::int64_t memory_gibi;
  Precision precision;
  std::int64_t processors;  ///< multiprocessors
  FittedKind fitted;
  bool is_other = false;  ///< than the device whose steps the constants were fitted to
};

// Peaks are without sparsity. What is not in the source is the operations that one core does per cycle (two), with
// which cores and clock become a rate where a table rounds it.
constexpr auto kDevices = std::to_array<KnownDevice>({
    // "V100 for NVLink": 15.7 TFLOPS single precision, 125 TFLOPS tensor, 16 or 32 GB HBM2 at 900 GB/s; no TF32.
    {"V100-SXM2-16GB", "NVIDIA Tesla V100 for NVLink, 16 GB", "NVIDIA Tesla V100 GPU Accelerator data sheet, 2018",
     15.7, 0, 125, 0, 0, 900, 16, Precision::Fp32, 80, FittedKind::V100},
    {"V100-SXM2-32GB", "NVIDIA Tesla V100 for NVLink, 32 GB", "NVIDIA Tesla V100 GPU Accelerator data sheet, 2018",
     15.7, 0, 125, 0, 0, 900, 32, Precision::Fp32, 80, FittedKind::V100},
    // "A100 40GB SXM": 19.5 TFLOPS fp32, 156 TFLOPS TF32, 312 TFLOPS fp16 and bf16, HBM2 at 1,555 GB/s.
    {"A100-SXM4-40GB", "NVIDIA A100 SXM, 40 GB", "NVIDIA A100 Tensor Core GPU data sheet, 2020", 19.5, 156, 312, 312, 0,
     1555, 40, Precision::Tf32, 108, FittedKind::A100},
    // "A100 80GB SXM": the same rates, HBM2e at 2,039 GB/s.
    {"A100-SXM4-80GB", "NVIDIA A100 SXM, 80 GB", "NVIDIA A100 Tensor Core GPU data sheet, 2021", 19.5, 156, 312, 312, 0,
     2039, 80, Precision::Tf32, 108, FittedKind::A100},
    // "H100 SXM5": 66.9 TFLOPS fp32, 494.7 TFLOPS TF32, 989.4 TFLOPS fp16 and bf16, 1,978.9 TFLOPS fp8, HBM3 at
    // 3,352 GB/s.
    {"H100-SXM5-80GB", "NVIDIA H100 SXM5, 80 GB",
     "NVIDIA H100 Tensor Core GPU Architecture white paper, version 1.04, 2023", 66.9, 494.7, 989.4, 989.4, 1978.9,
     3352, 80, Precision::Tf32, 132, FittedKind::H100},
    // "H200 SXM": 67 TFLOPS fp32, 989 TFLOPS TF32, 1,979 TFLOPS fp16 and bf16 and 3,958 TFLOPS fp8 with sparsity, of
    // which a half without, 141 GB HBM3e at 4.8 TB/s.
    {"H200-SXM-141GB", "NVIDIA H200 SXM, 141 GB", "NVIDIA H200 Tensor Core GPU data sheet, 2024", 67, 494.5, 989.5,
     989.5, 1979, 4800, 141, Precision::Tf32, 132, FittedKind::H100, true},
    // "HGX B200", of eight: 600 TFLOPS fp32; with sparsity 18 PFLOPS TF32, 36 PFLOPS fp16 and bf16, 72 PFLOPS fp8;
    // 1,440 GB HBM3e in a DGX; "GPU memory bandwidth 7.7 TB/s" of one.
    {"B200-SXM-180GB", "NVIDIA B200 SXM, 180 GB", "NVIDIA HGX B200 and DGX B200 data sheets, 2024", 75, 1125, 2250,
     2250, 4500, 7700, 180, Precision::Tf32, 148, FittedKind::B200},
    // "GB200 NVL72", of 72: 5,760 TFLOPS fp32; with sparsity 180 PFLOPS TF32, 360 PFLOPS fp16 and bf16, 720 PFLOPS fp8;
    // 186 GB HBM3e at 8 TB/s of one.
    {"GB200-186GB", "NVIDIA GB200, one of its two GPUs, 186 GB", "NVIDIA GB200 NVL72 data sheet, 2024", 80, 1250, 2500,
     2500, 5000, 8000, 186, Precision::Tf32, 148, FittedKind::Gb200},
    // Reference card: 4352 cores at 1545 MHz, 53.8 TFLOPS fp16 on tensor cores that add up in fp32, 11 GB at 616 GB/s.
    {"RTX-2080-Ti", "NVIDIA GeForce RTX 2080 Ti, reference card, 11 GB",
     "NVIDIA Turing GPU Architecture white paper, 2018", 13.45, 0, 53.8, 0, 0, 616, 11, Precision::Fp32, 68,
     FittedKind::V100, true},
    // 3584 cores at 1582 MHz, 11 GB at 484 GB/s, from the table that compares it with the RTX 2080 Ti. No tensor cores;
    // its fp16 rate is a sixty-fourth of fp32's and nobody trains with it.
    {"GTX-1080-Ti", "NVIDIA GeForce GTX 1080 Ti, 11 GB", "NVIDIA Turing GPU Architecture white paper, 2018", 11.34, 0,
     0, 0, 0, 484, 11, Precision::Fp32, 28, FittedKind::None},
});

/// Products of 16 and 8 bit have constants of their own; those of 32 bit were not fitted to anything.
DeviceDescription describe(const KnownDevice& known, Precision precision) {
  constexpr double kTera = 1e12;
  constexpr double kGiga = 1e9;
  constexpr std::int64_t kGibi = std::int64_t{1} << 30;
  const bool on_tensor_cores = precision != Precision::Fp32;
  const char* mode = precision == Precision::Tf32 ? "TF32" : to_string(precision);
  DeviceDescription device;
  device.name = known.name;
  device.summary = std::string(known.summary) + ", computing in " + mode;
  device.source = known.source;
  device.fp32 = FlopsPerSecond(known.fp32_tera * kTera);
  device.tf32 = FlopsPerSecond(known.tf32_tera * kTera);
  device.fp16 = FlopsPerSecond(known.fp16_tera * kTera);
  device.bf16 = FlopsPerSecond(known.bf16_tera * kTera);
  device.fp8 = FlopsPerSecond(known.fp8_tera * kTera);
  device.memory_bandwidth = BytesPerSecond(known.memory_giga_per_second * kGiga);
  device.memory = Bytes(known.memory_gibi * kGibi);
  device.launch_overhead = kLaunchOverhead;
  device.precision = precision;
  if (on_tensor_cores) device.efficiency = kTensorCoreEfficiency;
  if (value_bytes(precision) == 2) set_constants(device, known.fitted, known.processors, known.is_other);
  return device;
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Letters and digits in a row, in lower case: `h100`, `sxm5`, `80gb`.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words{{}};
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      words.back() += static_cast<char>(std::tolower(byte));
    } else {
      words.emplace_back();
    }
  }
  std::erase_if(words, [](const std::string& word) { return word.empty(); });
  return words;
}

/// The first word with a digit that is no size of a memory.
std::string model_number(const std::vector<std::string>& words) {
  const auto found = std::ranges::find_if(words, [](const std::string& word) {
    return std::ranges::any_of(word, is_digit) && !word.ends_with("gb") && !word.ends_with("gib");
  });
  return found == words.end() ? std::string() : *found;
}

/// How many words of `name` begin one of `words`: `sxm` begins `sxm5`.
std::ptrdiff_t shared(const std::vector<std::string>& name, const std::vector<std::string>& words) {
  return std::ranges::count_if(name, [&](const std::string& word) {
    return std::ranges::any_of(words, [&](const std::string& other) { return other.starts_with(word); });
  });
}

}  // namespace

std::vector<WorkloadInfo> known_devices() {
  std::vector<WorkloadInfo> list;
  for (const KnownDevice& known : kDevices) {
    const DeviceDescription device = describe(known, known.precision);
    list.push_back({device.name, device.summary, device.source});
  }
  return list;
}

std::optional<DeviceDescription> find_device(std::string_view name) {
  const auto known = std::ranges::find(kDevices, name, [](const KnownDevice& k) { return std::string_view(k.name); });
  if (known == kDevices.end()) return std::nullopt;
  return describe(*known, known->precision);
}

std::optional<DeviceDescription> find_device(std::string_view name, Precision precision) {
  const auto known = std::ranges::find(kDevices, name, [](const KnownDevice& k) { return std::string_view(k.name); });
  if (known == kDevices.end()) return std::nullopt;
  DeviceDescription device = describe(*known, precision);
  static_cast<void>(peak(device, precision));
  return device;
}

std::optional<DeviceDescription> find_device(std::string_view name, const std::vector<DeviceDescription>& own) {
  const auto found = std::ranges::find(own, name, &DeviceDescription::name);
  return found != own.end() ? std::optional(*found) : find_device(name);
}

std::vector<std::string> devices_like(std::string_view name) {
  const std::vector<std::string> wanted = words_of(name);
  const std::string number = model_number(wanted);
  std::vector<std::string> like;
  std::ptrdiff_t most = 1;
  for (const KnownDevice& known : kDevices) {
    const std::vector<std::string> of_known = words_of(known.name);
    const std::ptrdiff_t same = shared(wanted, of_known);
    if (number.empty() || model_number(of_known) != number || same < most) continue;
    if (same > most) like.clear();
    most = same;
    like.emplace_back(known.name);
  }
  return like;
}

bool have_other_numbers(std::string_view a, std::string_view b) {
  const std::string of_a = model_number(words_of(a));
  const std::string of_b = model_number(words_of(b));
  return !of_a.empty() && !of_b.empty() && of_a != of_b;
}

}  // namespace stagecraft
