#include "experiments/report/description.hpp"
#include "experiments/report/table.hpp"
#include "sim/base/text.hpp"
#include "sim/model/graph_order.hpp"

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

}  // namespace

Description describe_model(const Model& model) {
  const LayerGraph& graph = model.profiles.front();
  const std::vector<LayerId> order = canonical_order(graph);
  const std::vector<Bytes> cuts = cut_bytes(graph, order);
  const LayerTotals sums = totals(graph);
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
  Detail::List sizes;
  for (const LayerGraph& profile : model.profiles) sizes.emplace_back(profile.microbatch_size);
  const bool chain = is_chain(graph, order);
  const std::string head = "model " + graph.name + ": a " + (chain ? "chain" : "graph") + " of " +
                           std::to_string(graph.layers.size()) + " layers and " + std::to_string(graph.edges.size()) +
                           " edges, timed on " + graph.device_kind + "\nmicrobatch sizes: " + sizes_text(model) +
                           (model.profiles.size() > 1 ? " (the figures below are those of the first)" : "") +
                           "\nsource: " + graph.source + "\n";
  const std::string whole = "a microbatch: " + format_human_seconds(sums.forward) + " forward, " +
                            format_human_seconds(sums.backward) + " backward, " + format_human_bytes(sums.stash) +
                            " of stash; " + format_human_bytes(sums.parameters) + " of parameters\n\n";
  Detail::Record record{{"kind", "model"},
                        {"name", graph.name},
                        {"device", graph.device_kind},
                        {"source", graph.source},
                        {"microbatch_sizes", std::move(sizes)},
                        {"is_chain", chain},
                        {"edges", static_cast<std::int64_t>(graph.edges.size())},
                        {"input_bytes", graph.input.value()},
                        {"totals", totals_record(sums)},
                        {"layers", std::move(layers)}};
  return {head + whole + to_text(table), std::move(record)};
}

}  // namespace stagecraft
