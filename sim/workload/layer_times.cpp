#include "sim/workload/layer_times.hpp"

#include "sim/model/exchange.hpp"

#include <cmath>

namespace stagecraft {
namespace {

Seconds on_grid(Seconds time, TimeGrid grid) {
  return grid == TimeGrid::Exact ? time : Seconds(std::round(time.value() * 1e9) / 1e9);
}

void add_exchanges(Layer& layer, OperatorId id, const LayerCosts& costs) {
  const OperatorCost& cost = costs.of[id];
  for (const OperatorExchange& each : costs.net.operators[id].kernel.group.exchanges) {
    const Bytes bytes((each.values * value_bytes(costs.precision) + each.bytes) * costs.samples);
    const Seconds own = on_grid(each.backward ? cost.backward_input + cost.backward_weight : cost.forward, costs.grid);
    const Seconds beside = each.beside_part > 0 ? own / static_cast<double>(each.beside_part) : Seconds(0);
    add_exchange(each.backward ? layer.backward_exchanges : layer.forward_exchanges, {.kind = each.kind,
                                                                                      .bytes = bytes,
                                                                                      .count = each.count,
                                                                                      .hidden = each.hidden,
                                                                                      .among = each.among,
                                                                                      .beside = beside});
  }
}

}  // namespace

void set_times(Layer& layer, const std::vector<OperatorId>& operators, const LayerCosts& costs) {
  layer.forward_exchanges.clear();
  layer.backward_exchanges.clear();
  Seconds forward;
  Seconds backward;
  Seconds backward_weight;
  for (const OperatorId id : operators) {
    const OperatorCost& cost = costs.of[id];
    forward += on_grid(cost.forward, costs.grid);
    backward += on_grid(cost.backward_input + cost.backward_weight, costs.grid);
    backward += on_grid(cost.recomputed, costs.grid);
    backward_weight += on_grid(cost.backward_weight, costs.grid);
    add_exchanges(layer, id, costs);
  }
  layer.forward = on_grid(forward, costs.grid);
  layer.backward = on_grid(backward, costs.grid);
  layer.backward_weight = on_grid(backward_weight, costs.grid);
}

}  // namespace stagecraft
