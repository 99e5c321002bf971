#include "experiments/report/description.hpp"
#include "experiments/report/plan_view.hpp"
#include "experiments/report/table.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/schedule/workers.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

/// The smallest bandwidth between two devices of the stages; none if they share all devices or are not connected.
std::optional<BytesPerSecond> bandwidth_between(const Platform& platform, const Stage& from, const Stage& to) {
  std::optional<BytesPerSecond> least;
  for (DeviceId a : from.devices) {
    for (DeviceId b : to.devices) {
      const auto bandwidth = a == b ? std::nullopt : pair_bandwidth(platform, a, b);
      if (bandwidth && (!least || *bandwidth < *least)) least = bandwidth;
    }
  }
  return least;
}

std::string boundaries_table(const Platform& platform, const Plan& plan, const std::vector<Boundary>& all) {
  if (all.empty()) return "";
  Table table{{"boundary", "bytes of a microbatch", "smallest bandwidth"}, {}};
  for (const Boundary& boundary : all) {
    const auto bandwidth =
        bandwidth_between(platform, plan.stages[boundary.from.value()], plan.stages[boundary.to.value()]);
    table.rows.push_back({std::to_string(boundary.from.value()) + " -> " + std::to_string(boundary.to.value()),
                          format_human_bytes(boundary.bytes), bandwidth ? format_human_bandwidth(*bandwidth) : "-"});
  }
  return "\n" + to_text(table);
}

Detail::List boundaries_list(const Platform& platform, const Plan& plan, const std::vector<Boundary>& all) {
  Detail::List list;
  for (const Boundary& boundary : all) {
    const auto bandwidth =
        bandwidth_between(platform, plan.stages[boundary.from.value()], plan.stages[boundary.to.value()]);
    list.emplace_back(Detail::Record{{"from", std::int64_t{boundary.from.value()}},
                                     {"to", std::int64_t{boundary.to.value()}},
                                     {"bytes", boundary.bytes.value()},
                                     {"bandwidth_bytes_per_s", bandwidth ? Detail(bandwidth->value()) : Detail()}});
  }
  return list;
}

}  // namespace

Description describe_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                          const Report& evaluated) {
  const std::vector<Boundary> all = boundaries(graph, plan);
  Detail::Record record{{"kind", "plan"},
                        {"plan", plan_record(plan, graph, platform)},
                        {"stages", stage_list(graph, platform, plan)},
                        {"boundaries", boundaries_list(platform, plan, all)},
                        {"predicted", figures_record(plan.predicted, platform)},
                        {"evaluated", figures_record(evaluated.figures(), platform)}};
  return {plan_text(graph, platform, plan, evaluated) + boundaries_table(platform, plan, all), std::move(record)};
}

}  // namespace stagecraft
