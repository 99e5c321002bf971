#include "sim/workload/places.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace stagecraft {
namespace {

/// An operator takes its type from its layer's and its own name within the layer.
std::string operator_type(const Operator& op) {
  if (op.layer_type.empty() || op.name == op.layer) return op.layer_type;
  const std::string prefix = op.layer + ".";
  return op.layer_type + "." + (op.name.starts_with(prefix) ? op.name.substr(prefix.size()) : op.name);
}

/// The types of residual blocks: blocks have one type if their operators have the same types.
class ResidualTypes {
 public:
  /// `of_last`: the type of the layer in which the block ends.
  std::string type_of_block(const std::vector<std::string>& operators, const std::string& of_last) {
    if (std::ranges::find(operators, "") != operators.end()) return "";
    const auto [at, is_new] = known_.try_emplace(operators, of_last);
    if (is_new && ++ends_[of_last] > 1) at->second += "-" + std::to_string(ends_[of_last]);
    return at->second;
  }

 private:
  std::map<std::vector<std::string>, std::string> known_;
  std::map<std::string, int> ends_;  ///< types so far whose blocks end in a layer of this type
};

/// The first operator from `begin` on that `addition` needs.
OperatorId first_needed(const Architecture& net, OperatorId begin, OperatorId addition) {
  std::set<OperatorId> needed = {addition};
  for (std::size_t at = addition.value() + 1; at-- > begin.value();) {
    if (!needed.contains(OperatorId(at))) continue;
    const Operator& op = net.operators[OperatorId(at)];
    needed.insert(op.inputs.begin(), op.inputs.end());
  }
  while (!needed.contains(begin)) begin = OperatorId(begin.value() + 1);
  return begin;
}

/// A residual block: its first operator, and the one whose layer names it.
struct ResidualBlock {
  OperatorId first;
  OperatorId namesake;
};

std::vector<ResidualBlock> residual_blocks(const Architecture& net) {
  std::vector<ResidualBlock> blocks;
  OperatorId begin(0);
  for (const OperatorId id : indices(net.operators)) {
    if (!net.operators[id].ends_residual) continue;
    blocks.push_back({blocks.empty() ? begin : first_needed(net, begin, id), id});
    begin = OperatorId(id.value() + 1);
  }
  if (begin.value() < net.operators.size()) blocks.push_back({begin, OperatorId(net.operators.size() - 1)});
  return blocks;
}

IndexVector<OperatorId, Place> residual_places(const Architecture& net) {
  if (std::ranges::none_of(net.operators, &Operator::ends_residual)) {
    throw InputError(net.name + " has no residual blocks", {},
                     "the granularities operator, layer and block fit every network");
  }
  const std::vector<ResidualBlock> blocks = residual_blocks(net);
  IndexVector<OperatorId, Place> places;
  ResidualTypes types;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const std::size_t end = block + 1 < blocks.size() ? blocks[block + 1].first.value() : net.operators.size();
    std::vector<std::string> operators;
    for (std::size_t at = places.size(); at < end; ++at) {
      operators.push_back(operator_type(net.operators[OperatorId(at)]));
    }
    const Operator& last = net.operators[blocks[block].namesake];
    const Place place{last.layer, types.type_of_block(operators, last.layer_type)};
    while (places.size() < end) places.push_back(place);
  }
  return places;
}

/// What is recomputed together cannot be divided among layers.
[[noreturn]] void refuse_operators(const Architecture& net) {
  throw InputError("selective recomputation runs several operators of " + net.name + " again together, " +
                       "which the granularity operator divides",
                   {},
                   "another granularity; or, without selective recomputation, a plan's key 'recompute' with a segment "
                   "from 'scores' to 'context'");
}

Place place_of(const Operator& op, Granularity granularity) {
  if (granularity == Granularity::Operator) return {op.name, operator_type(op)};
  if (granularity == Granularity::Layer) return {op.layer, op.layer_type};
  return {op.block, op.block_type};
}

}  // namespace

IndexVector<OperatorId, Place> places_of(const Architecture& architecture, Granularity granularity) {
  if (granularity == Granularity::Residual) return residual_places(architecture);
  if (granularity == Granularity::Operator && architecture.recomputes_attention) refuse_operators(architecture);
  IndexVector<OperatorId, Place> places;
  for (const Operator& op : architecture.operators) places.push_back(place_of(op, granularity));
  return places;
}

}  // namespace stagecraft
