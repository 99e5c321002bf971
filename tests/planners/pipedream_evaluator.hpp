#pragma once

#include "planners/pipedream/down_sets.hpp"
#include "planners/pipedream/recurrence.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

/// A judge of PipeDream's stage lists that knows nothing of states or recurrences: it adds up layers.
namespace stagecraft::testing {

struct JudgedStage {
  std::vector<LayerId> layers;
  double replicas = 1;
  std::vector<JudgedStage> inner;
};

/// What a judge charges: as the authors' program, or with overlap and whole boundaries as the paper.
struct JudgedCosts {
  bool communication = true;
  bool overlapped = false;
  bool whole = false;
  double rounds = 1.0;  ///< between two updates; a round is charged its share of a synchronisation
};

/// All layers that `layer` needs, itself not included.
inline std::set<LayerId> ancestors(const LayerGraph& graph, LayerId layer) {
  std::set<LayerId> found;
  std::vector<LayerId> open{layer};
  while (!open.empty()) {
    const LayerId at = open.back();
    open.pop_back();
    for (const LayerEdge& edge : graph.edges) {
      if (edge.to == at && found.insert(edge.from).second) open.push_back(edge.from);
    }
  }
  return found;
}

/// O: outputs of the maximal layers, and of each ancestor of such a layer m that feeds a layer which is neither m nor
/// an ancestor of m.
inline double boundary_traffic(const LayerGraph& graph, const std::set<LayerId>& done) {
  std::set<LayerId> counted;
  for (LayerId m : done) {
    const bool feeds_inside = std::ranges::any_of(
        graph.edges, [&](const LayerEdge& edge) { return edge.from == m && done.contains(edge.to); });
    if (feeds_inside) continue;
    counted.insert(m);
    const std::set<LayerId> needed = ancestors(graph, m);
    for (const LayerEdge& edge : graph.edges) {
      if (needed.contains(edge.from) && edge.to != m && !needed.contains(edge.to)) counted.insert(edge.from);
    }
  }
  double sum = 0.0;
  for (LayerId layer : counted) sum += static_cast<double>(graph.layers[layer].output.value());
  return sum;
}

/// The time of a pipeline at `level` whose first stage follows `done`; the layers judged are added to `done`.
inline double judge(const LayerGraph& graph, const std::vector<Level>& levels, std::size_t level,
                    const JudgedCosts& costs, const std::vector<JudgedStage>& stages, std::set<LayerId>& done) {
  const double bandwidth = levels[level].bandwidth.value();
  const double below = level == 0 ? 1.0 : levels[level - 1].count;
  double largest = 0.0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const JudgedStage& stage = stages[s];
    const double q = stage.replicas;
    const double input = s == 0 ? 0.0 : boundary_traffic(graph, done);
    double time = 0.0;
    double parameters = 0.0;
    for (LayerId layer : stage.layers) {
      time += (graph.layers[layer].forward + graph.layers[layer].backward).value();
      parameters += static_cast<double>(graph.layers[layer].parameters.value());
    }
    if (level > 0) {
      std::set<LayerId> before = done;
      time = judge(graph, levels, level - 1, costs, stage.inner, before);
    }
    done.insert(stage.layers.begin(), stage.layers.end());
    const double sync = 4.0 * (q - 1.0) * parameters / (bandwidth * q) / (s == 0 ? below : 1.0) / costs.rounds;
    largest = std::max(largest, (costs.overlapped ? std::max(time, sync) : time + sync) / q);
    if (!costs.communication || s == 0) continue;
    const bool ends = done.size() == graph.layers.size();
    const double output = ends ? 0.0 : boundary_traffic(graph, done);
    largest = std::max(largest, 2.0 * std::max(input, output) / (bandwidth * (costs.whole ? 1.0 : q)));
  }
  return largest;
}

inline double judge(const LayerGraph& graph, const std::vector<Level>& levels, const JudgedCosts& costs,
                    const std::vector<JudgedStage>& stages) {
  std::set<LayerId> done;
  return judge(graph, levels, levels.size() - 1, costs, stages, done);
}

inline std::vector<JudgedStage> to_judge(const pipedream::DownSets& states,
                                         const std::vector<pipedream::Segment>& segments) {
  std::vector<JudgedStage> stages;
  for (const pipedream::Segment& segment : segments) {
    stages.push_back({pipedream::layers_between(states, segment.from, segment.to),
                      static_cast<double>(segment.replicas), to_judge(states, segment.inner)});
  }
  return stages;
}

/// Devices that the list uses at each level: the most members of any pipeline there, outermost first.
inline std::size_t members_used(const std::vector<JudgedStage>& stages) {
  double sum = 0.0;
  for (const JudgedStage& stage : stages) sum += stage.replicas;
  return static_cast<std::size_t>(sum);
}

}  // namespace stagecraft::testing
