#include "sim/analytic/class_stages.hpp"

#include "sim/model/graph_order.hpp"

#include <cstdint>

namespace stagecraft {
namespace {

std::vector<StageForm> forms_of(std::size_t devices, std::size_t dividing) {
  std::vector<StageForm> forms;
  for (std::size_t replicas = 1; replicas <= devices; ++replicas) {
    forms.push_back({replicas, false});
    if (replicas > 1 && replicas <= dividing) forms.push_back({replicas, true});
  }
  return forms;
}

}  // namespace

ClassStages::ClassStages(const LayerGraph& graph, const Platform& platform, const Training& training,
                         std::int64_t microbatches)
    : order_(canonical_order(graph)),
      devices_(platform.devices.size()),
      microbatches_(microbatches),
      samples_(graph.microbatch_size),
      network_(widest_network(platform)),
      times_(graph, platform, order_, devices_),
      forms_(forms_of(devices_, times_.most_replicas())) {
  const LeastExchange exchange(graph, platform, training, order_, network_);
  for (std::size_t begin = 0; begin < order_.size(); ++begin) {
    for (const StageForm& form : forms_) costs_.push_back(costs(exchange, begin, form));
  }
}

std::vector<StageCosts> ClassStages::costs(const LeastExchange& exchange, std::size_t begin,
                                           const StageForm& form) const {
  const LayerSums& busiest = form.divides ? times_.largest_share(form.replicas) : times_.whole();
  const LayerSums& quickest = form.divides ? times_.any_share(form.replicas) : times_.whole();
  const auto turns = form.divides ? 1 : static_cast<std::int64_t>(form.replicas);
  const std::int64_t most = (microbatches_ + turns - 1) / turns;
  const double overhead = times_.overhead();
  const std::vector<double> inside = exchange.exposed(begin, exchange.inside(form.replicas), busiest);
  const std::vector<double> spread = exchange.exposed(begin, exchange.spread(form.replicas), busiest);
  std::vector<StageCosts> costs;
  for (std::size_t end = begin + 1; end <= order_.size(); ++end) {
    if (!exchange.fits(begin, end, form.replicas)) break;
    const double update = exchange.update(begin, end, form.replicas);
    StageCosts own;
    own.busy =
        static_cast<double>(most) * (busiest.forwards(begin, end) + busiest.backwards(begin, end) + 2.0 * overhead);
    own.forward = quickest.forwards(begin, end) + overhead;
    own.both = own.forward + quickest.backwards(begin, end) + overhead;
    own.inside = inside[end - begin - 1] + update;
    own.spread = spread[end - begin - 1] + update;
    costs.push_back(own);
  }
  return costs;
}

}  // namespace stagecraft
