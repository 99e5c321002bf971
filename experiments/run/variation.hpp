#pragma once

#include "experiments/run/inputs.hpp"
#include "sim/model/profile_noise.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// A change of a model and a platform, as factors of what they say.
struct Variation {
  double bandwidth =
      1.0;               ///< of all links: in nodes, between them and to hosts; and of a measured table of all-reduces
  double network = 1.0;  ///< of the links between nodes alone: NICs and all behind them; the explicit form has none
  double compute = 1.0;  ///< how fast all devices compute, and update weights
  double collective_efficiency = 1.0;                ///< share of the bandwidth of its links that an all-reduce reaches
  double latency = 1.0;                              ///< of all links
  std::optional<ProfileNoise> noise = std::nullopt;  ///< on the times of layers
  friend bool operator==(const Variation&, const Variation&) = default;
};

struct NamedVariation {
  std::string name;  ///< `bandwidth x 0.5`
  Variation change;
};

/// The inputs that a user may have wrong, each changed alone (docs/reference/command-line.md). Those that would change
/// neither profile nor platform are left out: between nodes with a single node or in the explicit form, and latencies
/// that are all zero.
[[nodiscard]] std::vector<NamedVariation> usual_variations(const Platform& platform);

/// **Requires** positive factors. The hashes stay those of the files.
[[nodiscard]] PlatformSpec varied(PlatformSpec spec, const Variation& change);
[[nodiscard]] LayerGraph varied(LayerGraph graph, const Variation& change);
[[nodiscard]] Model varied(Model model, const Variation& change);
[[nodiscard]] Inputs varied(Inputs inputs, const Variation& change);

}  // namespace stagecraft
