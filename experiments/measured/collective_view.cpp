#include "experiments/measured/collective_view.hpp"

#include "experiments/view/table.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <utility>

namespace stagecraft {
namespace {

constexpr double kAtBoundOfShare = 0.9995;
constexpr Seconds kNoLatency(1e-9);

const char* word_of(Exchange::Kind kind) {
  switch (kind) {
    case Exchange::Kind::AllReduce: return "all-reduce";
    case Exchange::Kind::ReduceScatter: return "reduce-scatter";
    case Exchange::Kind::AllGather: return "all-gather";
    default: return "exchange";
  }
}

double share_of(const CollectiveGroup& group) { return group.nodes == 1 ? group.alone.node : group.alone.network; }

Detail::Record errors_record(const CollectiveErrors& errors) {
  return {{"root_mean_square", errors.root_mean_square},
          {"worst", errors.worst},
          {"worst_size_bytes", errors.worst_size.value()}};
}

Detail::Record group_record(const CollectiveGroup& group) {
  return {{"exchange", word_of(group.kind)},
          {"ranks", static_cast<std::int64_t>(group.members.size())},
          {"nodes", static_cast<std::int64_t>(group.nodes)},
          {"times", static_cast<std::int64_t>(group.times.size())},
          {"latency_s", group.alone.latency.value()},
          {"share", share_of(group)},
          {"bus_bandwidth_bytes_per_second", group.bus_bandwidth.value()},
          {"errors_alone", errors_record(group.errors_alone)},
          {"errors_together", errors_record(group.errors)}};
}

std::vector<std::string> group_row(const CollectiveGroup& group) {
  return {word_of(group.kind),
          std::to_string(group.members.size()),
          std::to_string(group.nodes),
          std::to_string(group.times.size()),
          format_human_seconds(group.alone.latency),
          percent(share_of(group)),
          format_human_bandwidth(group.bus_bandwidth),
          percent(group.errors_alone.root_mean_square),
          signed_percent(group.errors_alone.worst) + " at " + format_human_bytes(group.errors_alone.worst_size),
          percent(group.errors.root_mean_square)};
}

std::string constants_words(const CollectiveFit& fit) {
  std::string text = "latency " + format_human_seconds(fit.constants.latency);
  if (fit.has_node) text += ", " + percent(fit.constants.node) + " of the links inside nodes";
  if (fit.has_network) text += ", " + percent(fit.constants.network) + " of those between nodes";
  return text;
}

}  // namespace

Description describe_collective_fit(const CollectiveFit& fit, const std::string& platform) {
  Table table{
      {"exchange", "ranks", "nodes", "times", "latency", "share", "bus bandwidth", "residual", "worst", "together"},
      {}};
  Detail::List groups;
  for (const CollectiveGroup& group : fit.groups) {
    table.rows.push_back(group_row(group));
    groups.push_back(group_record(group));
  }
  const std::string text = fmt::format("{}: {} of collectives\n\n{}\ntogether: {}; residual {}, worst {} at {}\n",
                                       platform, counted(fit.groups.size(), "group"), to_text(table),
                                       constants_words(fit), percent(fit.errors.root_mean_square),
                                       signed_percent(fit.errors.worst), format_human_bytes(fit.errors.worst_size));
  Detail::Record constants{{"latency_s", fit.constants.latency.value()}};
  if (fit.has_node) constants.emplace_back("node", fit.constants.node);
  if (fit.has_network) constants.emplace_back("network", fit.constants.network);
  return {text,
          {{"platform", platform},
           {"groups", std::move(groups)},
           {"constants", std::move(constants)},
           {"errors", errors_record(fit.errors)}}};
}

std::vector<std::string> collective_warnings(const CollectiveFit& fit) {
  std::vector<std::string> warnings;
  const auto check = [&](bool is_fitted, double share, const char* where) {
    if (!is_fitted || share < kAtBoundOfShare) return;
    warnings.push_back(
        fmt::format("the share {} ended at its bound, 1: the links are faster than the platform says", where));
  };
  if (fit.constants.latency < kNoLatency) {
    warnings.emplace_back(
        "the latency ended at its bound, 0: the latencies of the platform's links are longer than what the tables "
        "show");
  }
  check(fit.has_node, fit.constants.node, "inside nodes");
  check(fit.has_network, fit.constants.network, "between nodes");
  return warnings;
}

}  // namespace stagecraft
