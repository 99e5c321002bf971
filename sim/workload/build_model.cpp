#include "sim/workload/build_model.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/layer_times.hpp"
#include "sim/workload/network_costs.hpp"
#include "sim/workload/places.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

constexpr double kMostBytes = 9007199254740992.0;  ///< the largest size in a file

/// An architecture together with its device, microbatch size and granularity.
struct Build {
  const Architecture& net;
  const DeviceDescription& device;
  std::int64_t samples = 1;
  IndexVector<OperatorId, LayerId> layer_of;
  IndexVector<LayerId, std::vector<OperatorId>> members;
  IndexVector<OperatorId, char> is_kept;  ///< whether some operator's backward needs the output
  IndexVector<OperatorId, OperatorCost> costs;
};

/// Refuses tensors that are too large for a model file, before any sum of bytes can overflow.
void require_countable(const Architecture& net, std::int64_t samples) {
  double bytes = static_cast<double>(net.input_bytes);
  double parameters = 0;
  for (const Operator& op : net.operators) {
    bytes += 4.0 * (static_cast<double>(op.input_values) + static_cast<double>(op.output_values));
    const GroupPart& part = op.kernel.group;
    bytes += 4.0 * (static_cast<double>(part.gathered_values) + static_cast<double>(part.made_values));
    bytes += 4.0 * static_cast<double>(part.kept_values);
    bytes += 4.0 * static_cast<double>(op.saved_values) + static_cast<double>(op.saved_bytes);
    bytes += 8.0 * op.kernel.winograd_expansion * static_cast<double>(op.output_values);
    parameters += 4.0 * static_cast<double>(op.parameters + op.tied.parameters);
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

/// Operators of one name form one layer, in the order of first appearance.
IndexVector<LayerId, std::vector<OperatorId>> grouped(const IndexVector<OperatorId, Place>& places) {
  std::map<std::string, LayerId> known;
  IndexVector<LayerId, std::vector<OperatorId>> operators;
  for (const OperatorId id : indices(places)) {
    const auto [at, is_new] = known.try_emplace(places[id].name, LayerId(operators.size()));
    if (is_new) operators.push_back({});
    operators[at->second].push_back(id);
  }
  return operators;
}

void assign_layers(Build& build, LayerGraph& graph, Granularity granularity) {
  IndexVector<OperatorId, Place> places = places_of(build.net, granularity);
  build.members = grouped(places);
  build.layer_of.resize(build.net.operators.size());
  for (const LayerId id : indices(build.members)) {
    for (const OperatorId member : build.members[id]) build.layer_of[member] = id;
    Place& place = places[build.members[id].front()];
    Layer layer;
    layer.name = std::move(place.name);
    layer.type = std::move(place.type);
    graph.layers.push_back(std::move(layer));
  }
}

IndexVector<OperatorId, char> outputs_kept(const Architecture& net) {
  IndexVector<OperatorId, char> is_kept(net.operators.size());
  for (const OperatorId id : indices(net.operators)) {
    const Operator& op = net.operators[id];
    if (op.saves_output) is_kept[id] = 1;
    for (const OperatorId input : op.inputs) {
      if (op.saves_input && !input.is_none()) is_kept[input] = 1;
    }
  }
  return is_kept;
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

/// Whether the tensor is made again by the operators that `reader` is recomputed with.
bool is_made_again(const Build& build, OperatorId reader, OperatorId tensor) {
  return is_recomputed(build.net, reader) && !tensor.is_none() && is_recomputed(build.net, tensor);
}

/// Of the tensors that the backward of an operator needs those that are kept for it: if it is recomputed, what its
/// forward reads from outside, and otherwise what it saves.
std::set<OperatorId> kept_for(const Build& build, OperatorId id) {
  std::set<OperatorId> tensors;
  const Operator& op = build.net.operators[id];
  const bool reads_again = is_recomputed(build.net, id);
  for (const OperatorId input : op.inputs) {
    if ((op.saves_input || reads_again) && !is_made_again(build, id, input)) tensors.insert(input);
  }
  if (op.saves_output && !reads_again) tensors.insert(id);
  return tensors;
}

std::set<OperatorId> kept(const Build& build, LayerId layer) {
  std::set<OperatorId> tensors;
  for (const OperatorId id : build.members[layer]) tensors.merge(kept_for(build, id));
  return tensors;
}

Bytes values_bytes(const Build& build, std::int64_t values) {
  return Bytes(values * value_bytes(build.device.precision) * build.samples);
}

/// What an operator keeps beside tensors.
Bytes saved_beside(const Build& build, const Operator& op) {
  return Bytes(op.saved_bytes * build.samples) + values_bytes(build, op.saved_values + op.kernel.group.kept_values);
}

/// What the operators of a layer that are recomputed together hold until their backward has ended, by the name of the
/// attention.
std::map<std::string, Bytes> made_again(const Build& build, LayerId layer) {
  std::map<std::string, std::set<OperatorId>> tensors;
  std::map<std::string, Bytes> bytes;
  for (const OperatorId id : build.members[layer]) {
    if (!is_recomputed(build.net, id)) continue;
    const Operator& op = build.net.operators[id];
    bytes[op.layer] += saved_beside(build, op);
    if (op.saves_output) tensors[op.layer].insert(id);
    for (const OperatorId input : op.inputs) {
      if (op.saves_input && is_made_again(build, id, input)) tensors[op.layer].insert(input);
    }
  }
  for (const auto& [attention, of] : tensors) bytes[attention] += sum_of(build, of);
  return bytes;
}

/// The memory of an operator besides the stash: scratch memory, and what is gathered of its input; in the forward its
/// output unless some operator keeps it; in the backward the gradients of its output, its inputs and what is gathered.
Bytes operator_workspace(const Build& build, OperatorId id, Bytes scratch) {
  const Operator& op = build.net.operators[id];
  const Bytes gathered = values_bytes(build, op.kernel.group.gathered_values);
  const Bytes made = std::max(tensor_bytes(build, id), values_bytes(build, op.kernel.group.made_values));
  Bytes inputs;
  for (const OperatorId input : op.inputs) {
    if (!input.is_none()) inputs += tensor_bytes(build, input);
  }
  const Bytes forward = build.is_kept[id] ? made - tensor_bytes(build, id) : made;
  const Bytes backward = made + inputs + gathered - values_bytes(build, op.kernel.group.gathered_part);
  return scratch + gathered + std::max(forward, backward);
}

Bytes expert_parameters_of(const Build& build, const std::vector<OperatorId>& operators) {
  std::int64_t parameters = 0;
  for (const OperatorId id : operators) {
    if (build.net.operators[id].kernel.experts.count > 0) parameters += build.net.operators[id].parameters;
  }
  return Bytes(parameter_bytes(build.device.precision) * parameters);
}

/// The parameters of operators on one device: those of an operator and of the ones that share them count once.
Bytes parameters_of(const Build& build, const std::vector<OperatorId>& operators) {
  const std::set<OperatorId> here(operators.begin(), operators.end());
  std::set<OperatorId> shared;
  std::int64_t parameters = 0;
  for (const OperatorId id : operators) {
    const Operator& op = build.net.operators[id];
    parameters += op.parameters;
    if (here.contains(op.tied.owner)) continue;
    const bool is_new = op.tied.owner.is_none() || shared.insert(op.tied.owner).second;
    if (is_new) parameters += op.tied.parameters;
  }
  return Bytes(parameter_bytes(build.device.precision) * parameters);
}

/// The parameters that operators of several layers share.
void add_tied(const Build& build, LayerGraph& graph) {
  std::map<OperatorId, std::set<LayerId>> layers;  // by owner
  for (const OperatorId id : indices(build.net.operators)) {
    const OperatorId owner = build.net.operators[id].tied.owner;
    if (!owner.is_none()) layers[owner].insert({build.layer_of[owner], build.layer_of[id]});
  }
  for (const auto& [owner, of] : layers) {
    if (of.size() < 2) continue;
    graph.tied.push_back({{of.begin(), of.end()},
                          Bytes(parameter_bytes(build.device.precision) * build.net.operators[owner].parameters)});
  }
}

void add_operators(const Build& build, LayerId id, Layer& layer) {
  layer.parameters = parameters_of(build, build.members[id]);
  layer.experts = expert_parameters_of(build, build.members[id]);
  layer.stash = sum_of(build, kept(build, id));
  const std::map<std::string, Bytes> again = made_again(build, id);
  for (const OperatorId member : build.members[id]) {
    const Operator& op = build.net.operators[member];
    const OperatorCost& cost = build.costs[member];
    const bool runs_again = is_recomputed(build.net, member);
    if (!runs_again) layer.stash += saved_beside(build, op);
    const Bytes held = runs_again ? again.at(op.layer) : Bytes(0);
    layer.workspace = std::max(layer.workspace, held + operator_workspace(build, member, cost.scratch));
  }
  set_times(layer, build.members[id], {build.net, build.costs, build.device.precision, build.samples});
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

/// The tensors that pass between layers, with the layers that read them and those that keep them.
void add_tensors(const Build& build, LayerGraph& graph) {
  struct Users {
    std::set<LayerId> readers;
    std::set<LayerId> keepers;
  };
  std::map<OperatorId, Users> users;  // `none()`, the network's input, comes last
  for (const LayerId id : indices(graph.layers)) {
    for (const OperatorId tensor : entering(build, id)) users[tensor].readers.insert(id);
    for (const OperatorId tensor : kept(build, id)) users[tensor].keepers.insert(id);
  }
  for (const auto& [tensor, of] : users) {
    if (of.readers.empty()) continue;
    const auto number = static_cast<std::uint32_t>(graph.tensors.size());
    graph.tensors.push_back({tensor.is_none() ? LayerId::none() : build.layer_of[tensor], tensor_bytes(build, tensor)});
    for (const LayerId id : of.readers) graph.layers[id].reads.push_back(number);
    for (const LayerId id : of.keepers) graph.layers[id].keeps.push_back(number);
  }
}

const char* describe(ContextAttention attention) {
  switch (attention) {
    case ContextAttention::Ring: return "keys and values that pass around a ring";
    case ContextAttention::AllGather: return "keys and values that each gathers";
    case ContextAttention::AllToAll: return "some of the heads for all tokens on each";
  }
  return "";
}

/// Which of the devices that run a layer together the figures are of; empty for one device.
std::string describe_member(const Degrees& degrees) {
  std::string text;
  const auto add = [&](std::int64_t members, const std::string& what) {
    text += (text.empty() ? "; figures of one of " : " and of one of ") + std::to_string(members) + what;
  };
  if (degrees.tensor > 1) {
    add(degrees.tensor, " devices that divide each layer");
    text += degrees.sequence ? ", with sequence parallelism" : ", without sequence parallelism";
  }
  if (degrees.context > 1) {
    add(degrees.context, " devices that divide the tokens of each sample, with ");
    text += describe(degrees.attention);
  }
  if (degrees.expert > 1) {
    add(degrees.expert, " devices that divide the experts of each block");
    if (degrees.imbalance > 1) text += fmt::format(", the one with {} times the mean of tokens", degrees.imbalance);
  }
  return text;
}

std::string describe_source(const Architecture& net, const DeviceDescription& device, Granularity granularity,
                            const Degrees& degrees) {
  const std::int64_t tied = tied_parameter_count(net);
  std::string text = "computed, not measured: architecture " + net.name + " (" + net.summary +
                     ") on the device description " + device.name + " in " + to_string(device.precision) +
                     " by the cost model of docs/explanation/cost-model.md, at " + to_string(granularity) +
                     " granularity" + (device.fit.empty() ? "" : ", with constants " + device.fit) + "; " +
                     std::to_string(parameter_count(net)) + " parameters";
  if (tied > 0) text += " and " + std::to_string(tied) + " in tied copies";
  const std::int64_t active = active_parameter_count(net);
  if (active < parameter_count(net)) text += ", of which a token uses " + std::to_string(active);
  if (net.recomputes_attention) text += "; attention is recomputed selectively";
  return text + describe_member(degrees) + "; network: " + net.source;
}

/// The profile of the network that `net` is or that it is a member's part of; name, source and work are left out.
LayerGraph profile_of(const Architecture& net, const DeviceDescription& device, std::int64_t samples,
                      Granularity granularity, std::int64_t members) {
  require_countable(net, samples);
  Build build{net, device, samples, {}, {}, outputs_kept(net), network_costs(net, device, samples, members)};
  LayerGraph graph;
  graph.device_kind = device.name;
  graph.precision = to_string(device.precision);
  const std::int64_t parameter = parameter_bytes(device.precision);
  if (parameter != kPlainParameterBytes) graph.parameter_bytes = parameter;
  graph.microbatch_size = samples;
  graph.origin = Origin::Computed;
  graph.input = tensor_bytes(build, OperatorId::none());
  assign_layers(build, graph, granularity);
  for (const LayerId id : indices(graph.layers)) add_operators(build, id, graph.layers[id]);
  add_edges(build, graph);
  add_tensors(build, graph);
  add_tied(build, graph);
  return graph;
}

}  // namespace

IndexVector<LayerId, std::vector<OperatorId>> operators_of_layers(const Architecture& architecture,
                                                                  Granularity granularity) {
  return grouped(places_of(architecture, granularity));
}

Model build_model(const Architecture& architecture, const DeviceDescription& device, std::int64_t microbatch_size,
                  Granularity granularity, const Degrees& degrees) {
  STAGECRAFT_CHECK(microbatch_size > 0, "a positive microbatch size");
  LayerGraph graph = profile_of(member_of(architecture, degrees), device, microbatch_size, granularity, degrees.tensor);
  graph.name = architecture.name;
  graph.source = describe_source(architecture, device, granularity, degrees);
  graph.work = {forward_flops(architecture), masked_flops(architecture), architecture.tokens};
  graph.degrees = degrees;
  graph.copies = copies_in(degrees);
  return {{std::move(graph)}, {}, {}};
}

}  // namespace stagecraft
