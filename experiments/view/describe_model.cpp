#include "experiments/view/description.hpp"
#include "experiments/view/table.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/model/graph_order.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

bool is_chain(const LayerGraph& graph, const std::vector<LayerId>& order) {
  if (graph.edges.size() + 1 != graph.layers.size()) return false;
  const Adjacency around = adjacency(graph);
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    const auto& outgoing = around.outgoing[order[i]];
    if (outgoing.size() != 1 || graph.edges[outgoing[0]].to != order[i + 1]) return false;
  }
  return true;
}

Detail::Record layer_record(const Layer& layer) {
  return {{"name", layer.name},
          {"type", layer.type.empty() ? Detail() : Detail(layer.type)},
          {"forward_s", layer.forward.value()},
          {"backward_s", layer.backward.value()},
          {"backward_weight_s", layer.backward_weight.value()},
          {"parameters_bytes", layer.parameters.value()},
          {"output_bytes", layer.output.value()},
          {"stash_bytes", layer.stash.value()},
          {"checkpoint_bytes", layer.checkpoint.value()},
          {"workspace_bytes", layer.workspace.value()}};
}

Detail::Record totals_record(const LayerTotals& sums) {
  return {{"forward_s", sums.forward.value()},
          {"backward_s", sums.backward.value()},
          {"parameters_bytes", sums.parameters.value()},
          {"stash_bytes", sums.stash.value()}};
}

std::string sizes_text(const Model& model) {
  std::string text;
  for (const LayerGraph& profile : model.profiles) {
    text += (text.empty() ? "" : ", ") + std::to_string(profile.microbatch_size);
  }
  return text;
}

constexpr std::size_t kNamed = 3;

/// Positions in the canonical order, the largest value first (the smallest if `ascending`), at most `kNamed` of them.
std::vector<std::size_t> extremes(const std::vector<double>& values, bool ascending) {
  std::vector<std::size_t> positions(values.size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  std::ranges::stable_sort(positions, [&](std::size_t a, std::size_t b) {
    return ascending ? values[a] < values[b] : values[a] > values[b];
  });
  positions.resize(std::min(positions.size(), kNamed));
  return positions;
}

/// The layers with the largest values of one quantity and their shares of the sum, or the smallest cuts.
struct Ranking {
  std::string text;
  Detail::List list;
};
Ranking heaviest(const LayerGraph& graph, const std::vector<LayerId>& order, double (*quantity)(const Layer&)) {
  std::vector<double> values;
  double sum = 0.0;
  for (LayerId layer : order) sum += values.emplace_back(quantity(graph.layers[layer]));
  Ranking ranking;
  for (std::size_t position : extremes(values, false)) {
    if (values[position] <= 0.0) break;
    const std::string& name = graph.layers[order[position]].name;
    ranking.text += (ranking.text.empty() ? "" : ", ") + name + " " + percent(values[position] / sum);
    ranking.list.emplace_back(Detail::Record{{"layer", name}, {"share", values[position] / sum}});
  }
  return ranking;
}

Ranking smallest_cuts(const LayerGraph& graph, const std::vector<LayerId>& order, const std::vector<Bytes>& cuts) {
  std::vector<double> values;
  for (Bytes bytes : cuts) values.push_back(static_cast<double>(bytes.value()));
  Ranking ranking;
  for (std::size_t position : extremes(values, true)) {
    const std::string& name = graph.layers[order[position]].name;
    ranking.text += (ranking.text.empty() ? "" : ", ") + format_human_bytes(cuts[position]) + " after " + name;
    ranking.list.emplace_back(Detail::Record{{"after", name}, {"bytes", cuts[position].value()}});
  }
  return ranking;
}

/// The layers and cuts that matter most to a planner.
std::vector<std::pair<std::string, Ranking>> rankings(const LayerGraph& graph, const std::vector<LayerId>& order,
                                                      const std::vector<Bytes>& cuts) {
  const auto time = [](const Layer& layer) { return (layer.forward + layer.backward).value(); };
  const auto parameters = [](const Layer& layer) { return static_cast<double>(layer.parameters.value()); };
  const auto stash = [](const Layer& layer) { return static_cast<double>(layer.stash.value()); };
  return {{"most time", heaviest(graph, order, time)},
          {"most parameters", heaviest(graph, order, parameters)},
          {"most stash", heaviest(graph, order, stash)},
          {"smallest cuts", smallest_cuts(graph, order, cuts)}};
}

/// The layers in canonical order, as text and as JSON.
Description all_layers(const LayerGraph& graph, const std::vector<LayerId>& order, const std::vector<Bytes>& cuts) {
  Table table{{"layer", "type", "forward", "backward", "parameters", "stash", "checkpoint", "workspace", "cut after"},
              {}};
  Detail::List layers;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Layer& layer = graph.layers[order[i]];
    const bool has_cut = i < cuts.size();
    table.rows.push_back({layer.name, layer.type.empty() ? "-" : layer.type, format_human_seconds(layer.forward),
                          format_human_seconds(layer.backward), format_human_bytes(layer.parameters),
                          format_human_bytes(layer.stash), format_human_bytes(layer.checkpoint),
                          format_human_bytes(layer.workspace), has_cut ? format_human_bytes(cuts[i]) : "-"});
    Detail::Record record = layer_record(layer);
    record.emplace_back("cut_after_bytes", has_cut ? Detail(cuts[i].value()) : Detail());
    layers.emplace_back(std::move(record));
  }
  return {to_text(table), {{"layers", std::move(layers)}}};
}

}  // namespace

Description describe_model(const Model& model) {
  const LayerGraph& graph = model.profiles.front();
  const std::vector<LayerId> order = canonical_order(graph);
  const std::vector<Bytes> cuts = cut_bytes(graph, order);
  const LayerTotals sums = totals(graph);
  Detail::List sizes;
  for (const LayerGraph& profile : model.profiles) sizes.emplace_back(profile.microbatch_size);
  const bool chain = is_chain(graph, order);
  const std::string head = "model " + graph.name + ": a " + (chain ? "chain" : "graph") + " of " +
                           counted(graph.layers.size(), "layer") + " and " + counted(graph.edges.size(), "edge") +
                           ", timed on " + graph.device_kind + "\nmicrobatch sizes: " + sizes_text(model) +
                           (model.profiles.size() > 1 ? " (the figures below are those of the first)" : "") +
                           "\nsource: " + graph.source + "\n";
  const std::string whole = "a microbatch: " + format_human_seconds(sums.forward) + " forward, " +
                            format_human_seconds(sums.backward) + " backward, " + format_human_bytes(sums.stash) +
                            " of stash; " + format_human_bytes(sums.parameters) + " of parameters\n";
  Detail::Record record{{"kind", "model"},
                        {"name", graph.name},
                        {"device", graph.device_kind},
                        {"source", graph.source},
                        {"microbatch_sizes", std::move(sizes)},
                        {"is_chain", chain},
                        {"edges", static_cast<std::int64_t>(graph.edges.size())},
                        {"input_bytes", graph.input.value()},
                        {"totals", totals_record(sums)}};
  std::string critical;
  for (const auto& [title, ranking] : rankings(graph, order, cuts)) {
    std::string key = title;
    std::ranges::replace(key, ' ', '_');
    record.emplace_back(key, ranking.list);
    if (!ranking.text.empty()) critical += title + ": " + ranking.text + "\n";
  }
  Description layers = all_layers(graph, order, cuts);
  record.push_back(std::move(layers.record.front()));
  return {head + whole + critical + "\n" + layers.text, std::move(record)};
}

}  // namespace stagecraft
