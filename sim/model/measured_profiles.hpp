#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/profile_source.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// Profiles as a file gives them, for one or several sizes of each kind.
///
/// Between two sizes every number lies on the line between theirs. Beyond the largest size the last line is continued.
/// Below the smallest size bytes shrink in proportion; times follow the first line, or the proportion where that is
/// more. Numbers of a single size are in proportion to the samples. No number is negative.
class MeasuredProfiles final : public ProfileSource {
 public:
  /// **Requires** profiles of the same layers and edges, those of one kind by increasing size.
  explicit MeasuredProfiles(std::vector<LayerGraph> profiles) : profiles_(std::move(profiles)) {}

  [[nodiscard]] bool has(const std::string& kind) const override { return !of(kind).empty(); }
  [[nodiscard]] Origin origin(const std::string& kind, std::int64_t samples) const override;

 private:
  [[nodiscard]] LayerGraph make_profile(const std::string& kind, std::int64_t samples) const override;
  [[nodiscard]] std::span<const LayerGraph> of(const std::string& kind) const;

  std::vector<LayerGraph> profiles_;
};

}  // namespace stagecraft
