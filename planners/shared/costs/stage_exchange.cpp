#include "planners/shared/costs/stage_exchange.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/ring_time.hpp"
#include "planners/shared/costs/update_exchange.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/reduced_gradients.hpp"
#include "sim/model/run_sums.hpp"
#include "sim/schedule/tied_stages.hpp"

#include <algorithm>

namespace stagecraft {

std::vector<GradientBucket> summed_buckets(const LayerGraph& graph, const Training& training,
                                           const std::vector<LayerId>& layers,
                                           const std::vector<std::size_t>& elsewhere) {
  std::vector<Bytes> experts;
  for (const LayerId layer : layers) experts.push_back(graph.layers[layer].experts);
  return gradient_buckets(reduced_gradients(training, exchanged_parameters(graph, layers, elsewhere)), layers,
                          training.bucket(), reduced_gradients(training, experts));
}

double expert_part(const LayerGraph& graph) {
  GradientBucket all{totals(graph).parameters, {}};
  for (const Layer& layer : graph.layers) all.experts += layer.experts;
  return expert_part(all);
}

Seconds gather_beyond_forward(const LayerGraph& graph, const Platform& platform, const Training& training,
                              const Stage& stage) {
  const UpdateExchange exchange = update_exchange(training);
  const RingTime ring(platform, devices_of(stage));
  GradientBucket weights{parameters_of(graph, stage.layers), {}};
  for (const LayerId layer : stage.layers) weights.experts += graph.layers[layer].experts;
  const Seconds gathered =
      exchange.gathered_after(weights.bytes, [&](Bytes bytes) { return ring(bytes, expert_part(weights)); });
  if (training.bucket() == Bytes(0)) return gathered;
  return std::max(gathered - stage_time(graph, platform, stage).forward, Seconds(0));
}

ExchangesEachTime exchanges_each_time(const LayerGraph& graph, const Platform& platform, const Training& training,
                                      const Stage& stage, const std::vector<std::size_t>& elsewhere) {
  const UpdateExchange exchange = update_exchange(training);
  ExchangesEachTime each;
  if (!exchange.is_each_time) return each;
  const RingTime ring(platform, devices_of(stage));
  for (const GradientBucket& bucket : summed_buckets(graph, training, stage.layers, elsewhere)) {
    const auto all_reduce = [&](Bytes bytes) { return ring(bytes, expert_part(bucket)); };
    const Bytes weights = share_up(bucket.bytes, 1, exchange.gradients);
    each.all += exchange.each_time(weights, all_reduce);
    if (exchange.is_each_pass) {
      each.exposed = exchange.gathered(weights, all_reduce) + exchange.reduced(weights, all_reduce);
    }
  }
  return each;
}

Bytes divided_buffers(const LayerGraph& graph, const Training& training, const std::vector<LayerId>& layers) {
  if (training.zero < 2) return Bytes(0);
  Bytes largest;
  Bytes all;
  for (const GradientBucket& bucket : summed_buckets(graph, training, layers)) {
    largest = std::max(largest, bucket.bytes);
    all += bucket.bytes;
  }
  const Bytes gradients = std::min(largest * 2, all);
  return gradients + (training.zero >= 3 ? share_up(gradients, 1, reduced_copies(training)) : Bytes(0));
}

}  // namespace stagecraft
