#include "sim/workload/build_model.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/operator_cost.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kParameterBytes = 4;
constexpr double kMostBytes = 9007199254740992.0;  ///< the largest size in a file

/// An architecture together with its device, microbatch size and granularity.
struct Build {
  const Architecture& net;
  const DeviceDescription& device;
  std::int64_t samples = 1;
  IndexVector<OperatorId, LayerId> layer_of;
  IndexVector<LayerId, std::vector<OperatorId>> members;
};

/// Refuses tensors that are too large for a model file, before any sum of bytes can overflow.
void require_countable(const Architecture& net, std::int64_t samples) {
  double bytes = static_cast<double>(net.input_bytes);
  double parameters = 0;
  for (const Operator& op : net.operators) {
    bytes += 4.0 * (static_cast<double>(op.input_values) + static_cast<double>(op.output_values));
    bytes += 4.0 * static_cast<double>(op.saved_values) + static_cast<double>(op.saved_bytes);
    bytes += 8.0 * op.winograd_expansion * static_cast<double>(op.output_values);
    parameters += 4.0 * static_cast<double>(op.parameters + op.tied_parameters);
  }
  if (bytes * static_cast<double>(samples) > kMostBytes || parameters > kMostBytes) {
    throw InputError("the tensors of " + net.name + " at " + std::to_string(samples) +
                     " samples a microbatch exceed 2^53 bytes");
  }
}

/// One tensor of a microbatch; `none()` is the network's input.
Bytes tensor_bytes(const Build& build, OperatorId producer) {
  if (producer.is_none()) return Bytes(build.net.input_bytes * build.samples);
  return Bytes(build.net.operators[producer].output_values * value_bytes(build.device.precision) * build.samples);
}

Bytes sum_of(const Build& build, const std::set<OperatorId>& tensors) {
  Bytes sum;
  for (const OperatorId tensor : tensors) sum += tensor_bytes(build, tensor);
  return sum;
}

/// The layer that an operator belongs to, and its type.
struct Place {
  std::string name;
  std::string type;
};

/// An operator takes its type from its layer's and its own name within the layer.
std::string operator_type(const Operator& op) {
  if (op.layer_type.empty() || op.name == op.layer) return op.layer_type;
  const std::string prefix = op.layer + ".";
  return op.layer_type + "." + (op.name.starts_with(prefix) ? op.name.substr(prefix.size()) : op.name);
}

Place place_of(const Operator& op, Granularity granularity) {
  switch (granularity) {
    case Granularity::Operator: return {op.name, operator_type(op)};
    case Granularity::Layer: return {op.layer, op.layer_type};
    case Granularity::Block: break;
  }
  return {op.block, op.block_type};
}

/// Operators of one name form one layer, in the order of first appearance.
void assign_layers(Build& build, LayerGraph& graph, Granularity granularity) {
  build.members = operators_of_layers(build.net, granularity);
  build.layer_of.resize(build.net.operators.size());
  for (const LayerId id : indices(build.members)) {
    for (const OperatorId member : build.members[id]) build.layer_of[member] = id;
    Place place = place_of(build.net.operators[build.members[id].front()], granularity);
    Layer layer;
    layer.name = std::move(place.name);
    layer.type = std::move(place.type);
    graph.layers.push_back(std::move(layer));
  }
}

/// Tensors that enter a layer from outside.
std::set<OperatorId> entering(const Build& build, LayerId layer) {
  std::set<OperatorId> tensors;
  for (const OperatorId id : build.members[layer]) {
    for (const OperatorId input : build.net.operators[id].inputs) {
      if (input.is_none() || build.layer_of[input] != layer) tensors.insert(input);
    }
  }
  return tensors;
}

std::set<OperatorId> kept(const Build& build, LayerId layer) {
  std::set<OperatorId> tensors;
  for (const OperatorId id : build.members[layer]) {
    const Operator& op = build.net.operators[id];
    if (op.saves_input) tensors.insert(op.inputs.begin(), op.inputs.end());
    if (op.saves_output) tensors.insert(id);
  }
  return tensors;
}

/// The memory of an operator besides the stash: scratch memory; in the forward its output unless it is kept; in the
/// backward the gradients of its output and of its inputs.
Bytes operator_workspace(const Build& build, OperatorId id, Bytes scratch, const std::set<OperatorId>& stash) {
  Bytes forward;
  if (!stash.contains(id)) forward = tensor_bytes(build, id);
  Bytes backward = tensor_bytes(build, id);
  for (const OperatorId input : build.net.operators[id].inputs) {
    if (!input.is_none()) backward += tensor_bytes(build, input);
  }
  return scratch + std::max(forward, backward);
}

/// Rounds to the nanosecond: a cost model is not more precise, and so files are the same on every machine.
Seconds rounded(Seconds time) { return Seconds(std::round(time.value() * 1e9) / 1e9); }

void add_operators(const Build& build, LayerId id, Layer& layer) {
  const std::set<OperatorId> stash = kept(build, id);
  layer.stash = sum_of(build, stash);
  for (const OperatorId member : build.members[id]) {
    const Operator& op = build.net.operators[member];
    const OperatorCost cost = operator_cost(op, build.device, build.device.precision, build.samples);
    layer.parameters += Bytes(kParameterBytes * (op.parameters + op.tied_parameters));
    layer.stash += Bytes((op.saved_bytes + op.saved_values * value_bytes(build.device.precision)) * build.samples);
    layer.workspace = std::max(layer.workspace, operator_workspace(build, member, cost.scratch, stash));
  }
  const LayerTimes times = computed_times(build.net, build.members[id], build.device, build.samples);
  layer.forward = times.forward;
  layer.backward = times.backward;
  layer.backward_weight = times.backward_weight;
  layer.checkpoint = std::min(sum_of(build, entering(build, id)), layer.stash);
}

/// One edge for each pair of layers, of all tensors that the second reads from the first; ordered by consumer.
void add_edges(const Build& build, LayerGraph& graph) {
  std::vector<std::set<OperatorId>> leaving(graph.layers.size());
  for (const LayerId to : indices(graph.layers)) {
    std::map<LayerId, Bytes> from;
    for (const OperatorId tensor : entering(build, to)) {
      if (tensor.is_none()) continue;
      from[build.layer_of[tensor]] += tensor_bytes(build, tensor);
      leaving[build.layer_of[tensor].value()].insert(tensor);
    }
    for (const auto& [producer, bytes] : from) graph.edges.push_back({producer, to, bytes});
  }
  for (const LayerId id : indices(graph.layers)) {
    const std::set<OperatorId>& tensors = leaving[id.value()];
    graph.layers[id].output = tensors.empty() ? tensor_bytes(build, build.members[id].back()) : sum_of(build, tensors);
  }
}

std::string describe_source(const Build& build, Granularity granularity) {
  const std::int64_t tied = tied_parameter_count(build.net);
  std::string text = "computed, not measured: architecture " + build.net.name + " (" + build.net.summary +
                     ") on the device description " + build.device.name + " in " + to_string(build.device.precision) +
                     " by the cost model of docs/explanation/cost-model.md, at " + to_string(granularity) +
                     " granularity; " + std::to_string(parameter_count(build.net)) + " parameters";
  if (tied > 0) text += " and " + std::to_string(tied) + " in tied copies";
  return text + "; network: " + build.net.source;
}

}  // namespace

IndexVector<LayerId, std::vector<OperatorId>> operators_of_layers(const Architecture& architecture,
                                                                  Granularity granularity) {
  std::map<std::string, LayerId> known;
  IndexVector<LayerId, std::vector<OperatorId>> operators;
  for (const OperatorId id : indices(architecture.operators)) {
    const std::string name = place_of(architecture.operators[id], granularity).name;
    const auto [at, is_new] = known.try_emplace(name, LayerId(operators.size()));
    if (is_new) operators.push_back({});
    operators[at->second].push_back(id);
  }
  return operators;
}

LayerTimes computed_times(const Architecture& architecture, const std::vector<OperatorId>& operators,
                          const DeviceDescription& device, std::int64_t samples) {
  LayerTimes sum;
  for (const OperatorId id : operators) {
    const OperatorCost cost = operator_cost(architecture.operators[id], device, device.precision, samples);
    sum.forward += cost.forward;
    sum.backward += cost.backward_input + cost.backward_weight;
    sum.backward_weight += cost.backward_weight;
  }
  return {rounded(sum.forward), rounded(sum.backward), rounded(sum.backward_weight)};
}

Model build_model(const Architecture& architecture, const DeviceDescription& device, std::int64_t microbatch_size,
                  Granularity granularity) {
  STAGECRAFT_CHECK(microbatch_size > 0, "a positive microbatch size");
  require_countable(architecture, microbatch_size);
  Build build{architecture, device, microbatch_size, {}, {}};
  LayerGraph graph;
  graph.name = architecture.name;
  graph.device_kind = device.name;
  graph.microbatch_size = microbatch_size;
  graph.source = describe_source(build, granularity);
  graph.input = tensor_bytes(build, OperatorId::none());
  assign_layers(build, graph, granularity);
  for (const LayerId id : indices(graph.layers)) add_operators(build, id, graph.layers[id]);
  add_edges(build, graph);
  return {{std::move(graph)}, {}, {}};
}

}  // namespace stagecraft
