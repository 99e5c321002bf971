#include "sim/io/import_vpipe.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/model/graph_order.hpp"

#include <cmath>
#include <cstddef>
#include <numeric>

namespace stagecraft {
namespace {

double read_ratio(const YamlNode& node) {
  const double ratio = read_number(node);
  if (ratio > 1.0) node.fail_expected("a number from 0 to 1");
  return ratio;
}

/// Refuses a plan whose blocks are not the graph's layers.
void require_blocks(const VpipePlan& plan, std::int64_t layers) {
  const std::int64_t blocks = std::accumulate(plan.partition.begin(), plan.partition.end(), std::int64_t{0});
  if (blocks == layers || blocks + 1 == layers) return;
  const std::string fewer = layers > 1 ? " or " + std::to_string(layers - 1) : "";
  throw InputError("the stages have " + counted(blocks, "block") + " in all, but the model has " +
                       counted(layers, "layer") + "; expected " + std::to_string(layers) + fewer,
                   plan.place,
                   "each block is a layer of the model; with one block less, the first one has the first two layers");
}

/// The blocks at the end of a stage that are recomputed, as the program counts lines.
std::int64_t recomputed_blocks(std::int64_t blocks, double ratio) {
  return static_cast<std::int64_t>(std::floor(ratio * static_cast<double>(blocks)));
}

}  // namespace

VpipePlan parse_vpipe(std::string_view text, const std::string& file_name) {
  const YamlNode root = parse_yaml(text, file_name);
  root.allow_keys({"partition", "recompute_ratio"});
  VpipePlan plan;
  const YamlNode partition = root.at("partition");
  plan.place = partition.place();
  for (const YamlNode& item : partition.items()) plan.partition.push_back(read_count(item, 1, kMostStages));
  if (plan.partition.empty()) partition.fail("expected at least one stage, found none");
  const YamlNode ratios = root.at("recompute_ratio");
  for (const YamlNode& item : ratios.items()) plan.recompute_ratio.push_back(read_ratio(item));
  if (plan.recompute_ratio.size() != plan.partition.size()) {
    ratios.fail("expected " + counted(plan.partition.size(), "ratio") +
                ", as many as the partition has stages, found " + std::to_string(plan.recompute_ratio.size()));
  }
  return plan;
}

std::vector<Stage> vpipe_stages(const VpipePlan& plan, const LayerGraph& graph, const Platform& platform) {
  const std::vector<LayerId> order = canonical_order(graph);
  require_blocks(plan, std::ssize(order));
  if (plan.partition.size() > platform.devices.size()) {
    throw InputError("the plan has " + counted(plan.partition.size(), "stage") + ", but the platform " +
                         quote(platform.spec.name) + " has " + counted(platform.devices.size(), "device"),
                     plan.place);
  }
  std::vector<Stage> stages;
  auto begin = order.begin();
  auto end = order.end() - std::accumulate(plan.partition.begin(), plan.partition.end(), std::int64_t{0});
  for (std::size_t s = 0; s < plan.partition.size(); ++s) {
    end += plan.partition[s];
    Stage& stage = stages.emplace_back();
    stage.layers.assign(begin, end);
    stage.replicas = {DeviceId(s)};
    const std::int64_t blocks = recomputed_blocks(plan.partition[s], plan.recompute_ratio[s]);
    const bool is_whole = blocks == plan.partition[s];
    if (blocks > 0) stage.memory = {Recompute{{is_whole ? begin : end - blocks, end}}};
    begin = end;
  }
  return stages;
}

}  // namespace stagecraft
