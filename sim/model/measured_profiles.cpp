#include "sim/model/measured_profiles.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace stagecraft {
namespace {

/// Where a number of samples lies among the sizes of a kind: on the line through two profiles, 0 at `low` and 1 at
/// `high`. Below the smallest size, `part` is what is left of that one.
struct Position {
  const LayerGraph* low = nullptr;
  const LayerGraph* high = nullptr;
  double at = 0.0;
  std::optional<double> part;
};

Position position_of(std::span<const LayerGraph> profiles, std::int64_t samples) {
  STAGECRAFT_CHECK(!profiles.empty() && samples > 0, "a profile and a positive number of samples");
  const auto above = std::ranges::upper_bound(profiles, samples, {}, &LayerGraph::microbatch_size);
  const std::size_t last = profiles.size() - 1;
  const auto index = static_cast<std::size_t>(above - profiles.begin());
  const std::size_t high = std::clamp<std::size_t>(index, std::min<std::size_t>(1, last), last);
  Position position{&profiles[high == 0 ? 0 : high - 1], &profiles[high], 0.0, {}};
  const auto size = [](const LayerGraph* graph) { return static_cast<double>(graph->microbatch_size); };
  const auto wanted = static_cast<double>(samples);
  if (position.low != position.high) {
    position.at = (wanted - size(position.low)) / (size(position.high) - size(position.low));
  }
  if (last == 0 || wanted < size(position.low)) position.part = wanted / size(position.low);
  return position;
}

double on_line(double low, double high, double at) { return std::max(0.0, low + (high - low) * at); }

Seconds blend(const Position& position, Seconds low, Seconds high) {
  const double line = on_line(low.value(), high.value(), position.at);
  if (!position.part) return Seconds(line);
  const double proportion = low.value() * *position.part;
  return Seconds(position.low == position.high ? proportion : std::max(proportion, line));
}

Bytes blend(const Position& position, Bytes low, Bytes high) {
  if (position.part) return scale_up(low, *position.part);
  return scale_up(Bytes(1), on_line(static_cast<double>(low.value()), static_cast<double>(high.value()), position.at));
}

void blend_layer(const Position& position, const Layer& low, const Layer& high, Layer& layer) {
  layer.forward = blend(position, low.forward, high.forward);
  layer.backward = blend(position, low.backward, high.backward);
  layer.backward_weight = std::min(blend(position, low.backward_weight, high.backward_weight), layer.backward);
  layer.output = blend(position, low.output, high.output);
  layer.stash = blend(position, low.stash, high.stash);
  layer.checkpoint = std::min(blend(position, low.checkpoint, high.checkpoint), layer.stash);
  layer.workspace = blend(position, low.workspace, high.workspace);
}

const LayerGraph* exact_size(std::span<const LayerGraph> profiles, std::int64_t samples) {
  const auto found = std::ranges::find(profiles, samples, &LayerGraph::microbatch_size);
  return found == profiles.end() ? nullptr : &*found;
}

}  // namespace

std::span<const LayerGraph> MeasuredProfiles::of(const std::string& kind) const {
  const auto begin = std::ranges::find(profiles_, kind, &LayerGraph::device_kind);
  const auto end = std::find_if(begin, profiles_.end(), [&](const auto& graph) { return graph.device_kind != kind; });
  return {begin, end};
}

LayerGraph MeasuredProfiles::make_profile(const std::string& kind, std::int64_t samples) const {
  const std::span<const LayerGraph> profiles = of(kind);
  if (const LayerGraph* exact = exact_size(profiles, samples)) return *exact;
  const Position position = position_of(profiles, samples);
  LayerGraph graph = *position.low;
  graph.microbatch_size = samples;
  graph.input = blend(position, position.low->input, position.high->input);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    graph.tensors[i].bytes = blend(position, position.low->tensors[i].bytes, position.high->tensors[i].bytes);
  }
  for (LayerId id : indices(graph.layers)) {
    blend_layer(position, position.low->layers[id], position.high->layers[id], graph.layers[id]);
    Bytes kept;  // each rounded up
    for (const std::uint32_t tensor : graph.layers[id].keeps) kept += graph.tensors[tensor].bytes;
    graph.layers[id].stash = std::max(graph.layers[id].stash, kept);
  }
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    graph.edges[i].bytes = blend(position, position.low->edges[i].bytes, position.high->edges[i].bytes);
  }
  return graph;
}

Origin MeasuredProfiles::origin(const std::string& kind, std::int64_t samples) const {
  const std::span<const LayerGraph> profiles = of(kind);
  if (const LayerGraph* exact = exact_size(profiles, samples)) return exact->origin;
  const bool inside = samples > profiles.front().microbatch_size && samples < profiles.back().microbatch_size;
  return inside ? Origin::Interpolated : Origin::Extrapolated;
}

}  // namespace stagecraft
