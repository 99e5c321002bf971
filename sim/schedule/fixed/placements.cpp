#include "sim/schedule/fixed/placements.hpp"

namespace stagecraft {

OptionInfo chunks_parameter() {
  return {.name = "chunks",
          .default_value = std::int64_t{2},
          .description = "number of stages on each device",
          .least = 2,
          .most = 1024};
}

Placement round_placement(std::size_t devices, const Options& parameters) {
  Placement placement;
  for (std::int64_t chunk = 0; chunk < parameters.count("chunks"); ++chunk) {
    for (std::size_t device = 0; device < devices; ++device) placement.push_back({device, 0});
  }
  return placement;
}

Placement wave_placement(std::size_t devices, const Options& parameters) {
  const std::int64_t waves = parameters.values().contains("waves") ? parameters.count("waves") : 1;
  Placement placement;
  for (std::int64_t wave = 0; wave < waves; ++wave) {
    for (std::size_t device = 0; device < devices; ++device) placement.push_back({device, 0});
    for (std::size_t device = devices; device-- > 0;) placement.push_back({device, 0});
  }
  return placement;
}

Placement both_ways_placement(std::size_t devices, const Options& /*parameters*/) {
  Placement placement;
  for (std::size_t device = 0; device < devices; ++device) placement.push_back({device, 0});
  for (std::size_t device = devices; device-- > 0;) placement.push_back({device, 1});
  return placement;
}

}  // namespace stagecraft
