#include "sim/workload/device_links.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <array>

namespace stagecraft {
namespace {

constexpr double kGigabytes = 1e9;

struct KnownGpuLink {
  std::string_view architecture;
  double bandwidth;  ///< GB/s
  const char* source;
};

// What all links of a GPU carry in both directions together is in these documents.
constexpr auto kGpuLinks = std::to_array<KnownGpuLink>({
    {"sm60", 20, "NVIDIA Tesla P100 white paper, 2016: 4 NVLinks, 160 GB/s"},
    {"sm70", 25, "NVIDIA Tesla V100 GPU Architecture white paper, 2017: 6 NVLinks, 300 GB/s"},
    {"sm75", 25, "NVIDIA Turing GPU Architecture white paper, 2018: 2 NVLinks, 100 GB/s"},
    {"sm80", 25, "NVIDIA A100 Tensor Core GPU Architecture white paper, 2020: 12 NVLinks, 600 GB/s"},
    {"sm86", 14.0625, "NVIDIA Ampere GA102 GPU Architecture white paper, 2020: 4 NVLinks, 112.5 GB/s"},
    {"sm90", 25, "NVIDIA H100 Tensor Core GPU Architecture white paper, 2023: 18 NVLinks, 900 GB/s"},
    {"sm100", 50, "NVIDIA HGX B200 data sheet, 2024: 18 NVLinks, 1.8 TB/s"},
    {"gfx906", 46, "AMD Radeon Instinct MI60 data sheet, 2018: 2 Infinity Fabric links, 184 GB/s"},
    {"gfx908", 46, "AMD Instinct MI100 data sheet, 2020: 3 Infinity Fabric links, 276 GB/s"},
    {"gfx90a", 50, "AMD Instinct MI250X data sheet, 2021: 8 Infinity Fabric links, 800 GB/s"},
    {"gfx940", 64, "AMD Instinct MI300A data sheet, 2023: Infinity Fabric links of 128 GB/s"},
    {"gfx942", 64, "AMD Instinct MI300X data sheet, 2023: 7 Infinity Fabric links, 896 GB/s"},
    {"gfx950", 76.8, "AMD Instinct MI350X data sheet, 2025: 7 Infinity Fabric links, 1075 GB/s"},
});

struct KnownLinks {
  std::string_view device;
  std::string_view architecture;
  std::int64_t nvlinks;
  std::int64_t pcie;
  const char* source;  ///< null: that of the architecture
};

// Architectures are in NVIDIA's lists of the compute capabilities of its GPUs (developer.nvidia.com/cuda-gpus and
// cuda-legacy-gpus).
constexpr auto kLinks = std::to_array<KnownLinks>({
    {"V100-SXM2-16GB", "sm70", 6, 3, nullptr},
    {"V100-SXM2-32GB", "sm70", 6, 3, nullptr},
    {"A100-SXM4-40GB", "sm80", 12, 4, nullptr},
    {"A100-SXM4-80GB", "sm80", 12, 4, nullptr},
    {"H100-SXM5-80GB", "sm90", 18, 5, nullptr},
    {"H200-SXM-141GB", "sm90", 18, 5, "NVIDIA H200 Tensor Core GPU data sheet, 2024: NVLink of 900 GB/s"},
    {"B200-SXM-180GB", "sm100", 18, 5, nullptr},
    {"GB200-186GB", "sm100", 18, 5, "NVIDIA GB200 NVL72 data sheet, 2024: NVLink of 1.8 TB/s"},
    {"RTX-2080-Ti", "sm75", 2, 3, nullptr},
    {"GTX-1080-Ti", "sm61", 0, 3, "NVIDIA GeForce GTX 1080 Ti, specifications, 2017: PCIe 3.0"},
});

/// PCIe of 16 lanes in one direction.
struct PcieGeneration {
  std::int64_t generation;
  double rate;     ///< GB/s; 8, 16 and 32 GT/s for each lane, of which 128 of 130 bits are data
  double reached;  ///< GB/s; assumed, as in the platforms that come with the program
};
constexpr auto kPcie = std::to_array<PcieGeneration>({{3, 15.75, 12}, {4, 31.5, 24}, {5, 63, 50}});

}  // namespace

std::optional<GpuLink> find_gpu_link(std::string_view architecture) {
  const auto* known = std::ranges::find(kGpuLinks, architecture, &KnownGpuLink::architecture);
  if (known == kGpuLinks.end()) return std::nullopt;
  return GpuLink{BytesPerSecond(known->bandwidth * kGigabytes), known->source};
}

std::optional<DeviceLinks> find_device_links(std::string_view name) {
  const auto* known = std::ranges::find(kLinks, name, &KnownLinks::device);
  if (known == kLinks.end()) return std::nullopt;
  const auto* pcie = std::ranges::find(kPcie, known->pcie, &PcieGeneration::generation);
  STAGECRAFT_CHECK(pcie != kPcie.end(), "a listed generation");
  const GpuLink link = find_gpu_link(known->architecture).value_or(GpuLink{});
  return DeviceLinks{std::string(known->architecture),
                     known->nvlinks,
                     link.bandwidth,
                     known->pcie,
                     BytesPerSecond(pcie->rate * kGigabytes),
                     BytesPerSecond(pcie->reached * kGigabytes),
                     known->source == nullptr ? link.source : known->source};
}

}  // namespace stagecraft
