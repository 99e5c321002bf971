#include "sim/io/nccl_figures.hpp"

#include "sim/base/text.hpp"

#include <algorithm>
#include <array>

namespace stagecraft {
namespace {

constexpr double kNcclGiga = 1e9;

struct LaneSpeed {
  double transfers;  ///< GT/s
  double bandwidth;  ///< GB/s
};
constexpr auto kLaneSpeeds =
    std::to_array<LaneSpeed>({{2.5, 0.1875}, {5, 0.375}, {8, 0.75}, {16, 1.5}, {32, 3}, {64, 6}});

double intel_bandwidth(const NcclProcessor& processor) {
  if (processor.family != 6) return 6;
  const std::int64_t model = processor.model;
  const bool is_granite_rapids = model >= 0xad && model <= 0xaf;
  if (model >= 0xcf || is_granite_rapids) return 40;
  if (model >= 0x8f) return 22;
  return model >= 0x55 ? 10 : 6;
}

/// Files that NCCL takes in have the family also as older programs computed it: 0x8f, 0xaf, 0xbf.
double amd_bandwidth(std::int64_t family) {
  if (family == 26 || family == 0xbf) return 32;
  return family == 25 || family == 0xaf ? 24 : 16;
}

}  // namespace

std::optional<double> nccl_lane_speed(std::string_view text) {
  const std::size_t unit = text.find(" GT/s");
  if (unit == std::string_view::npos) return std::nullopt;
  return parse_number(text.substr(0, unit)).value;
}

std::optional<BytesPerSecond> nccl_lane_bandwidth(double transfers) {
  const auto* known = std::ranges::find(kLaneSpeeds, transfers, &LaneSpeed::transfers);
  if (known == kLaneSpeeds.end()) return std::nullopt;
  return BytesPerSecond(known->bandwidth * kNcclGiga);
}

std::string nccl_lane_speeds() {
  std::string text;
  for (const LaneSpeed& speed : kLaneSpeeds) text += (text.empty() ? "" : ", ") + format_number(speed.transfers);
  return text + " GT/s";
}

std::optional<BytesPerSecond> nccl_socket_bandwidth(const NcclProcessor& processor) {
  const auto in_giga = [](double bandwidth) { return BytesPerSecond(bandwidth * kNcclGiga); };
  if (processor.architecture == "ppc64") return in_giga(32);
  if (processor.architecture == "arm64") return in_giga(6);
  if (processor.architecture != "x86_64") return std::nullopt;
  if (processor.vendor == "GenuineIntel") return in_giga(intel_bandwidth(processor));
  if (processor.vendor == "AuthenticAMD") return in_giga(amd_bandwidth(processor.family));
  return std::nullopt;
}

}  // namespace stagecraft
