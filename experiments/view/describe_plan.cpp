#include "experiments/view/description.hpp"
#include "experiments/view/explanation.hpp"
#include "experiments/view/plan_view.hpp"
#include "experiments/view/table.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/stage_program.hpp"

#include <algorithm>
#include <functional>

namespace stagecraft {
namespace {

/// The smallest bandwidth between two replicas of the stages that exchange something; none if all of these share their
/// devices or are not connected.
std::optional<BytesPerSecond> bandwidth_between(const Platform& platform, const Replicas& replicas,
                                                const Boundary& boundary) {
  SmallestBandwidth smallest;
  for (ReplicaId from : replicas.of(boundary.from)) {
    for (ReplicaId to : replicas.of(boundary.to)) {
      if (!replicas.share_a_microbatch(from, to)) continue;
      if (flow_share(replicas[from].share, replicas[to].share).is_empty()) continue;
      smallest.add(platform, replicas[from].device, replicas[to].device);
    }
  }
  return smallest.bandwidth;
}

std::string boundaries_table(const Platform& platform, const Plan& plan, const std::vector<Boundary>& all) {
  if (all.empty()) return "";
  Table table{{"boundary", "bytes of a microbatch", "smallest bandwidth"}, {}};
  const Replicas replicas(plan);
  for (const Boundary& boundary : all) {
    const auto bandwidth = bandwidth_between(platform, replicas, boundary);
    table.rows.push_back({std::to_string(boundary.from.value()) + " -> " + std::to_string(boundary.to.value()),
                          format_human_bytes(boundary.bytes), bandwidth ? format_human_bandwidth(*bandwidth) : "-"});
  }
  return "\n" + to_text(table);
}

Detail::List boundaries_list(const Platform& platform, const Plan& plan, const std::vector<Boundary>& all) {
  Detail::List list;
  const Replicas replicas(plan);
  for (const Boundary& boundary : all) {
    const auto bandwidth = bandwidth_between(platform, replicas, boundary);
    list.emplace_back(Detail::Record{{"from", std::int64_t{boundary.from.value()}},
                                     {"to", std::int64_t{boundary.to.value()}},
                                     {"bytes", boundary.bytes.value()},
                                     {"bandwidth_bytes_per_s", bandwidth ? Detail(bandwidth->value()) : Detail()}});
  }
  return list;
}

/// The stages whose replicas take turns in another order than that of their ring.
std::string turns_table(const Platform& platform, const Plan& plan) {
  Table table{{"stage", "order of turns", "ring of the all-reduce"}, {}, 3};
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    if (stage.ring.empty()) continue;
    table.rows.push_back(
        {std::to_string(s), devices_text(platform, devices_of(stage)), devices_text(platform, ring_of(stage))});
  }
  return table.rows.empty() ? "" : "\n" + to_text(table);
}

/// The cells of a device's row without its name.
std::vector<std::string> memory_cells(const DeviceReport& device) {
  std::vector<std::string> cells;
  for (Bytes bytes : device.memory.breakdown) cells.push_back(format_human_bytes(bytes));
  cells.push_back(format_human_bytes(device.memory.peak));
  cells.push_back(format_human_bytes(device.memory.capacity));
  return cells;
}

/// Devices in a row whose figures read the same share a line.
std::string memory_table(const Platform& platform, const Report& evaluated) {
  Table table{{"memory at its peak"}, {}};
  for (std::size_t i = 0; i < kMemoryCategories; ++i)
    table.header.emplace_back(to_string(static_cast<MemoryCategory>(i)));
  table.header.insert(table.header.end(), {"sum", "usable"});
  for (std::size_t i = 0; i < evaluated.devices.size();) {
    std::vector<std::string> row = memory_cells(evaluated.devices[i]);
    std::vector<DeviceId> alike;
    for (; i < evaluated.devices.size() && memory_cells(evaluated.devices[i]) == row; ++i) {
      alike.push_back(evaluated.devices[i].device);
    }
    row.insert(row.begin(), devices_text(platform, alike));
    table.rows.push_back(std::move(row));
  }
  return "\n" + to_text(table);
}

Detail::List memory_list(const Platform& platform, const Report& evaluated) {
  Detail::List list;
  for (const DeviceReport& device : evaluated.devices) {
    Detail::Record record{{"device", platform.devices[device.device].name}};
    for (std::size_t i = 0; i < kMemoryCategories; ++i) {
      record.emplace_back(to_string(static_cast<MemoryCategory>(i)), device.memory.breakdown.at(i).value());
    }
    record.emplace_back("peak", device.memory.peak.value());
    record.emplace_back("memory", device.memory.capacity.value());
    list.emplace_back(std::move(record));
  }
  return list;
}

/// The bytes that one cause moves in an iteration (or microbatch), and the number of pairs of places between which it
/// moves them.
struct MovedBytes {
  TrafficCause cause;
  double bytes = 0.0;
  std::size_t pairs = 0;
};
std::vector<MovedBytes> exchanges(const Traffic& traffic) {
  std::vector<MovedBytes> all;
  for (const auto& [cause, bytes] : loads_by_cause(traffic)) {
    const auto pairs = std::ranges::count_if(
        traffic.flows, [&own = cause](const Flow& flow) { return flow.cause == own && is_last(flow.leg); });
    all.push_back({cause, bytes / static_cast<double>(traffic.parts), static_cast<std::size_t>(pairs)});
  }
  return all;
}

constexpr std::size_t kLinksDescribed = 5;

/// The bytes over each link, those that its bandwidth takes longest to carry first.
std::vector<std::pair<LinkId, Loads>> links_by_time(const Platform& platform, const Traffic& traffic) {
  std::vector<std::pair<LinkId, Loads>> links;
  for (const auto& [link, loads] : loads_by_link(platform, traffic)) {
    links.emplace_back(link, loads);
    for (auto& [cause, bytes] : links.back().second) bytes /= static_cast<double>(traffic.parts);
  }
  const auto time = [&](const auto& entry) {
    double bytes = 0.0;
    for (const auto& [cause, carried] : entry.second) bytes += carried;
    return bytes / platform.links[entry.first].bandwidth.value();
  };
  std::ranges::stable_sort(links, std::greater<>(), time);
  return links;
}

std::string links_table(const Platform& platform, const std::vector<std::pair<LinkId, Loads>>& links) {
  if (links.empty()) return "";
  Table table{{"busiest links", "carry", "bandwidth", "bytes"}, {}, 2};
  for (std::size_t i = 0; i < std::min(links.size(), kLinksDescribed); ++i) {
    for (const auto& [cause, bytes] : links[i].second) {
      const bool is_first = cause == links[i].second.front().first;
      table.rows.push_back({is_first ? platform.links[links[i].first].name : "", cause_text(cause),
                            is_first ? format_human_bandwidth(platform.links[links[i].first].bandwidth) : "",
                            format_human_bytes(Bytes(static_cast<std::int64_t>(bytes)))});
    }
  }
  std::string text = "\n" + to_text(table);
  if (links.size() > kLinksDescribed) text += "(and " + std::to_string(links.size() - kLinksDescribed) + " more)\n";
  return text;
}

Detail::List links_list(const Platform& platform, const std::vector<std::pair<LinkId, Loads>>& links) {
  Detail::List list;
  for (const auto& [link, loads] : links) {
    for (const auto& [cause, bytes] : loads) {
      list.emplace_back(
          Detail::Record{{"link", platform.links[link].name}, {"what", cause_text(cause)}, {"bytes", bytes}});
    }
  }
  return list;
}

std::string traffic_table(const std::vector<MovedBytes>& all, const std::string& unit) {
  if (all.empty()) return "";
  Table table{{"traffic of " + unit, "pairs of devices", "bytes"}, {}};
  for (const MovedBytes& exchange : all) {
    table.rows.push_back({cause_text(exchange.cause), std::to_string(exchange.pairs),
                          format_human_bytes(Bytes(static_cast<std::int64_t>(exchange.bytes)))});
  }
  return "\n" + to_text(table);
}

Detail::List traffic_list(const std::vector<MovedBytes>& all) {
  Detail::List list;
  for (const MovedBytes& exchange : all) {
    list.emplace_back(Detail::Record{{"what", cause_text(exchange.cause)},
                                     {"pairs", static_cast<std::int64_t>(exchange.pairs)},
                                     {"bytes", exchange.bytes}});
  }
  return list;
}

}  // namespace

Description describe_plan(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                          const TrafficEvaluation& evaluation) {
  const Plan& plan = program.kept->plan;
  const Report& evaluated = evaluation.report;
  const std::vector<Boundary> all = boundaries(graph, plan);
  const std::vector<MovedBytes> moved = exchanges(evaluation.traffic);
  const std::vector<std::pair<LinkId, Loads>> links = links_by_time(platform, evaluation.traffic);
  const std::string unit = is_asynchronous(plan.schedule) ? "a microbatch, on average" : "an iteration";
  Detail::Record record{{"kind", "plan"},
                        {"plan", plan_record(plan, graph, platform)},
                        {"stages", stage_list(graph, platform, program, evaluated.figures())},
                        {"boundaries", boundaries_list(platform, plan, all)},
                        {"memory_bytes", memory_list(platform, evaluated)},
                        {"traffic", traffic_list(moved)},
                        {"links", links_list(platform, links)},
                        {"predicted", figures_record(plan.predicted, platform)},
                        {"evaluated", figures_record(evaluated.figures(), platform)}};
  return {plan_text(graph, platform, program, evaluated) + turns_table(platform, plan) +
              memory_table(platform, evaluated) + boundaries_table(platform, plan, all) + traffic_table(moved, unit) +
              links_table(platform, links),
          std::move(record)};
}

}  // namespace stagecraft
