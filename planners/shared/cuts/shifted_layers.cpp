#include "planners/shared/cuts/shifted_layers.hpp"

#include "planners/planner.hpp"
#include "sim/model/graph_order.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostQuestions = 256;
constexpr std::int64_t kMostWork = 1 << 18;  ///< microbatches on stages, in all questions together

}  // namespace

void shift_layers(const LayerGraph& graph, const Plan& plan,
                  const std::function<bool(const std::vector<Stage>&)>& gains) {
  const std::vector<LayerId> order = canonical_order(graph);
  std::vector<Stage> stages = plan.stages;
  std::vector<std::ptrdiff_t> sizes;
  for (Stage& stage : stages) {
    sizes.push_back(std::ssize(stage.layers));
    stage.memory.clear();
  }
  const std::size_t count = stages.size();
  std::int64_t left = std::min(kMostQuestions, kMostWork / (std::ssize(stages) * plan.microbatches));
  for (std::size_t i = 0, gained = 0; i - gained < count * count && left > 0; ++i) {
    const std::size_t from = i % count;
    const std::size_t to = (from + i / count) % count;
    if (from == to || sizes[from] == 1 || stages[from].pipeline != stages[to].pipeline) continue;
    --sizes[from];
    ++sizes[to];
    std::map<std::uint32_t, std::size_t> ends;  // by pipeline
    for (std::size_t s = 0; s < count; ++s) {
      std::size_t& end = ends[stages[s].pipeline];
      const std::size_t first = end;
      end += static_cast<std::size_t>(sizes[s]);
      stages[s].layers = layers_in(order, first, end);
    }
    --left;
    if (gains(stages)) {
      gained = i;
    } else {
      ++sizes[from];
      --sizes[to];
    }
  }
}

}  // namespace stagecraft
