#include "experiments/view/description.hpp"
#include "experiments/view/table.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/model/run_sums.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
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

Detail::Record totals_record(const LayerTotals& sums, Bytes stash) {
  return {{"forward_s", sums.forward.value()},
          {"backward_s", sums.backward.value()},
          {"parameters_bytes", sums.parameters.value()},
          {"stash_bytes", stash.value()}};
}

/// `4, 16`, or with several kinds of device `4, 16 on A100-SXM4-40GB; 4 on V100-SXM2-16GB`.
std::string sizes_text(const Model& model) {
  const bool has_kinds = model.profiles.front().device_kind != model.profiles.back().device_kind;
  std::string text;
  for (std::size_t i = 0; i < model.profiles.size(); ++i) {
    const LayerGraph& profile = model.profiles[i];
    const bool is_last = i + 1 == model.profiles.size() || model.profiles[i + 1].device_kind != profile.device_kind;
    text += std::to_string(profile.microbatch_size);
    if (has_kinds && is_last) text += " on " + profile.device_kind;
    if (i + 1 < model.profiles.size()) text += is_last ? "; " : ", ";
  }
  return text;
}

Detail::List profile_list(const Model& model) {
  Detail::List list;
  for (const LayerGraph& profile : model.profiles) {
    list.emplace_back(Detail::Record{{"device", profile.device_kind},
                                     {"microbatch_size", profile.microbatch_size},
                                     {"origin", to_string(profile.origin)}});
  }
  return list;
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
/// `whole`: what the shares are of, if not the sum.
Ranking heaviest(const LayerGraph& graph, const std::vector<LayerId>& order, double (*quantity)(const Layer&),
                 const std::optional<Bytes>& whole = {}) {
  std::vector<double> values;
  double sum = 0.0;
  for (LayerId layer : order) sum += values.emplace_back(quantity(graph.layers[layer]));
  if (whole) sum = static_cast<double>(whole->value());
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

/// The parameters that layers have in common, as text and as JSON.
Ranking tied_parameters(const LayerGraph& graph) {
  constexpr std::size_t kTiedLayers = 4;
  Ranking tied;
  for (const TiedParameters& group : graph.tied) {
    Detail::List names;
    for (const LayerId id : group.layers) names.emplace_back(graph.layers[id].name);
    tied.text += "tied: " + format_human_bytes(group.bytes) + " of";
    for (std::size_t i = 0; i < std::min(names.size(), kTiedLayers); ++i) {
      tied.text += (i == 0 ? " " : ", ") + graph.layers[group.layers[i]].name;
    }
    if (names.size() > kTiedLayers) tied.text += " and " + std::to_string(names.size() - kTiedLayers) + " more";
    tied.text += "\n";
    tied.list.emplace_back(Detail::Record{{"layers", std::move(names)}, {"bytes", group.bytes.value()}});
  }
  return tied;
}

/// The layers and cuts that matter most to a planner.
std::vector<std::pair<std::string, Ranking>> rankings(const LayerGraph& graph, const std::vector<LayerId>& order,
                                                      const std::vector<Bytes>& cuts) {
  const auto time = [](const Layer& layer) { return (layer.forward + layer.backward).value(); };
  const auto parameters = [](const Layer& layer) { return static_cast<double>(layer.parameters.value()); };
  const auto stash = [](const Layer& layer) { return static_cast<double>(layer.stash.value()); };
  return {{"most time", heaviest(graph, order, time)},
          {"most parameters", heaviest(graph, order, parameters, totals(graph).parameters)},
          {"most stash", heaviest(graph, order, stash)},
          {"smallest cuts", smallest_cuts(graph, order, cuts)}};
}

/// `a sample: 24.3 Gflop in the forward pass, 1024 tokens`, what is known of it; empty if nothing is.
std::string work_text(const SampleWork& work) {
  constexpr double kGiga = 1e9;
  std::string text;
  if (work.forward > Flops(0)) text += short_number(work.forward.value() / kGiga) + " Gflop in the forward pass";
  if (work.masked > Flops(0)) {
    text += ", " + short_number((work.forward - work.masked).value() / kGiga) + " without what a causal mask hides";
  }
  if (work.tokens > 0) text += (text.empty() ? "" : ", ") + counted(work.tokens, "token");
  return text.empty() ? "" : "a sample: " + text + "\n";
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
  const Bytes stash = stash_of(graph, order);
  const bool chain = is_chain(graph, order);
  const std::string head = "model " + graph.name + ": a " + (chain ? "chain" : "graph") + " of " +
                           counted(graph.layers.size(), "layer") + " and " + counted(graph.edges.size(), "edge") +
                           ", timed on " + graph.device_kind + " (" + to_string(graph.origin) +
                           ")\nmicrobatch sizes: " + sizes_text(model) +
                           (model.profiles.size() > 1 ? " (the figures below are those of the first)" : "") +
                           "\nsource: " + graph.source + "\n";
  const std::string whole = "a microbatch: " + format_human_seconds(sums.forward) + " forward, " +
                            format_human_seconds(sums.backward) + " backward, " + format_human_bytes(stash) +
                            " of stash; " + format_human_bytes(sums.parameters) + " of parameters\n";
  Detail::Record record{{"kind", "model"},
                        {"name", graph.name},
                        {"device", graph.device_kind},
                        {"source", graph.source},
                        {"profiles", profile_list(model)},
                        {"is_chain", chain},
                        {"edges", static_cast<std::int64_t>(graph.edges.size())},
                        {"input_bytes", graph.input.value()},
                        {"totals", totals_record(sums, stash)}};
  if (graph.work.forward > Flops(0)) {
    record.emplace_back("forward_flops_per_sample", graph.work.forward.value());
    record.emplace_back("masked_flops_per_sample", graph.work.masked.value());
  }
  if (graph.work.tokens > 0) record.emplace_back("tokens_per_sample", graph.work.tokens);
  const Ranking tied = tied_parameters(graph);
  record.emplace_back("tied", tied.list);
  std::string critical;
  for (const auto& [title, ranking] : rankings(graph, order, cuts)) {
    std::string key = title;
    std::ranges::replace(key, ' ', '_');
    record.emplace_back(key, ranking.list);
    if (!ranking.text.empty()) critical += title + ": " + ranking.text + "\n";
  }
  Description layers = all_layers(graph, order, cuts);
  record.push_back(std::move(layers.record.front()));
  return {head + whole + work_text(graph.work) + tied.text + critical + "\n" + layers.text, std::move(record)};
}

}  // namespace stagecraft
