#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

/// A migration, and the layers that it moved.
struct Moved {
  const Migration* migration = nullptr;  ///< of the report
  std::size_t replan = 0;                ///< its position in `Course::replans`
  std::vector<LayerId> layers;           ///< of the model that the plan behind it trains
};

/// The migrations of a run that began with `plan` and trained these models one after the other, in the order of the
/// report. The report must outlive them.
[[nodiscard]] std::vector<Moved> moved_layers(const Report& report, const Plan& plan, const Platform& platform,
                                              const std::vector<const LayerGraph*>& models);

}  // namespace stagecraft
