#include "experiments/measured/collective_fit.hpp"

#include "experiments/measured/least_squares.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/all_reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

constexpr double kLeastShare = 1e-3;  ///< that a platform file may have

/// What an exchange takes of one algorithm: `fixed` and the latency of collectives, and `per_byte` for each byte.
struct ExchangeLine {
  Seconds fixed;
  double per_byte = 0;  ///< seconds
};

/// Times of the exchange of a group, for any constants.
class GroupModel {
 public:
  GroupModel(const Platform& platform, Exchange::Kind kind, std::vector<DeviceId> members)
      : platform_(platform), kind_(kind), rings_{std::move(members)} {
    using Algorithm = CollectiveSpec::Algorithm;
    const Algorithm chosen = platform.spec.collectives.algorithm;
    algorithms_ = {chosen};
    if (chosen == Algorithm::Auto) algorithms_ = {Algorithm::Ring, Algorithm::Hierarchical};
    platform_.spec.collectives.table.clear();
    set({});
    latencies_ = collective_latency(platform_with(Seconds(1.0)), rings_, kind_).value();
    // Bytes that rings of all usual numbers divide without a rest, so that no flow is rounded.
    const auto whole = Bytes(static_cast<std::int64_t>(rings_.front().size()) * 720'720);
    for (const Algorithm algorithm : algorithms_) {
      const Seconds time = lowered(algorithm, whole);
      fixed_.push_back(time - Seconds(per_byte(algorithm) * static_cast<double>(whole.value())));
    }
  }

  /// The lines of all algorithms that may run.
  [[nodiscard]] std::vector<ExchangeLine> lines(const CollectiveConstants& constants) {
    set(constants);
    std::vector<ExchangeLine> result;
    for (std::size_t i = 0; i < algorithms_.size(); ++i) {
      result.push_back({fixed_[i] + constants.latency * latencies_, per_byte(algorithms_[i])});
    }
    return result;
  }

 private:
  void set(const CollectiveConstants& constants) {
    CollectiveSpec& spec = platform_.spec.collectives;
    spec.efficiency = constants.node;
    spec.network_efficiency = constants.network;
    spec.latency = Seconds(0);
  }

  [[nodiscard]] Platform platform_with(Seconds latency) const {
    Platform copy = platform_;
    copy.spec.collectives.latency = latency;
    return copy;
  }

  Seconds lowered(CollectiveSpec::Algorithm algorithm, Bytes bytes) {
    platform_.spec.collectives.algorithm = algorithm;
    return lowered_time(platform_, rings_, kind_, Bytes(0), bytes);
  }

  double per_byte(CollectiveSpec::Algorithm algorithm) {
    constexpr std::int64_t kMany = std::int64_t{1} << 44;  // rounding to whole bytes is nothing beside them
    const Seconds more = lowered(algorithm, Bytes(2 * kMany)) - lowered(algorithm, Bytes(kMany));
    return more.value() / static_cast<double>(kMany);
  }

  Platform platform_;
  Exchange::Kind kind_;
  MemberRings rings_;
  std::vector<CollectiveSpec::Algorithm> algorithms_;
  std::vector<Seconds> fixed_;  ///< by algorithm: latencies of links
  double latencies_ = 0;        ///< how often the exchange has the latency of a collective
};

Seconds time_of(const std::vector<ExchangeLine>& lines, Bytes size) {
  Seconds least(std::numeric_limits<double>::infinity());
  for (const ExchangeLine& line : lines) {
    least = std::min(least, line.fixed + Seconds(line.per_byte * static_cast<double>(size.value())));
  }
  return least;
}

void add_log_errors(const std::vector<ExchangeLine>& lines, const std::vector<NcclTime>& times,
                    std::vector<double>& errors) {
  for (const NcclTime& time : times) errors.push_back(std::log(time_of(lines, time.size) / time.time));
}

CollectiveErrors errors_in(const std::vector<ExchangeLine>& lines, const std::vector<NcclTime>& times) {
  CollectiveErrors result;
  double squares = 0;
  for (const NcclTime& time : times) {
    const double ratio = time_of(lines, time.size) / time.time;
    squares += std::log(ratio) * std::log(ratio);
    if (std::abs(std::log(ratio)) <= std::abs(std::log1p(result.worst)) && result.worst_size > Bytes(0)) continue;
    result.worst = ratio - 1.0;
    result.worst_size = time.size;
  }
  result.root_mean_square = std::sqrt(squares / static_cast<double>(times.size()));
  return result;
}

/// The constants that are fitted, as values without bounds: times in microseconds and logarithms of shares, of which
/// the sign does not matter.
struct FreeConstants {
  CollectiveConstants known;  ///< what is not fitted
  bool node = false;
  bool network = false;

  [[nodiscard]] CollectiveConstants at(const std::vector<double>& point) const {
    const auto share = [](double value) { return std::max(kLeastShare, std::exp(-std::abs(value))); };
    CollectiveConstants constants = known;
    constants.latency = Seconds(std::abs(point[0]) * 1e-6);
    if (node) constants.node = share(point[1]);
    if (network) constants.network = share(point.back());
    return constants;
  }
  [[nodiscard]] std::vector<double> start(double latency) const {
    constexpr double kHalf = 0.7;
    std::vector<double> point{latency * 1e6};
    if (node) point.push_back(kHalf);
    if (network) point.push_back(kHalf);
    return point;
  }
};

using Groups = std::vector<std::pair<GroupModel*, const CollectiveGroup*>>;

CollectiveConstants fitted(const FreeConstants& free, const Groups& groups) {
  const auto residuals = [&](const std::vector<double>& point) {
    std::vector<double> errors;
    for (const auto& [model, group] : groups) add_log_errors(model->lines(free.at(point)), group->times, errors);
    return errors;
  };
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [model, group] : groups) {
    for (const NcclTime& time : group->times) least = std::min(least, time.time.value());
  }
  return free.at(least_squares(residuals, free.start(least / 2.0)));
}

std::vector<DeviceId> members_of(const NcclTable& table, const Platform& platform) {
  const std::vector<std::vector<DeviceId>> nodes = nodes_of(platform);
  std::vector<DeviceId> members;
  for (const NcclRank& rank : table.ranks) {
    if (rank.host >= nodes.size()) {
      throw InputError("the table has ranks on more than " + counted(nodes.size(), "host") + ", but the platform " +
                           quote(platform.spec.name) + " has no more nodes",
                       table.place);
    }
    if (rank.device >= nodes[rank.host].size()) {
      throw InputError("the table has a rank on device " + std::to_string(rank.device) + " of a host, but a node of " +
                           quote(platform.spec.name) + " has " + counted(nodes[rank.host].size(), "device"),
                       table.place);
    }
    members.push_back(nodes[rank.host][rank.device]);
  }
  std::ranges::sort(members);
  return members;
}

std::size_t hosts_of(const NcclTable& table) {
  std::set<std::uint32_t> hosts;
  for (const NcclRank& rank : table.ranks) hosts.insert(rank.host);
  return hosts.size();
}

void check_connected(const Platform& platform, const NcclTable& table, const std::vector<DeviceId>& members) {
  Route route;
  for (const DeviceId from : members) {
    for (const DeviceId to : members) {
      if (find_route(platform, platform.place(from), platform.place(to), route)) continue;
      throw InputError("the platform " + quote(platform.spec.name) + " does not connect " +
                           platform.devices[from].name + " with " + platform.devices[to].name +
                           ", which are ranks of the table",
                       table.place);
    }
  }
}

/// Tables of the same exchange are one group.
std::vector<CollectiveGroup> groups_of(const Platform& platform, const std::vector<NcclTable>& tables) {
  std::vector<CollectiveGroup> groups;
  for (const NcclTable& table : tables) {
    std::vector<DeviceId> members = members_of(table, platform);
    auto group = std::ranges::find_if(
        groups, [&](const CollectiveGroup& known) { return known.kind == table.kind && known.members == members; });
    if (group == groups.end()) {
      check_connected(platform, table, members);
      group = groups.emplace(group);
      group->kind = table.kind;
      group->members = std::move(members);
      group->nodes = hosts_of(table);
    }
    group->times.insert(group->times.end(), table.times.begin(), table.times.end());
  }
  for (const CollectiveGroup& group : groups) {
    const Bytes first = group.times.front().size;
    const bool differs = std::ranges::any_of(group.times, [&](const NcclTime& time) { return time.size != first; });
    if (differs) continue;
    throw InputError("expected at least two sizes, found one", group.times.front().place,
                     "one size does not tell latency and bandwidth apart");
  }
  return groups;
}

/// The bandwidth that nccl-tests would print for large tensors.
BytesPerSecond bus_bandwidth_of(const std::vector<ExchangeLine>& lines, const CollectiveGroup& group) {
  const auto n = static_cast<double>(group.members.size());
  const double crossing = 2.0 * (n - 1.0) / n * part_of_all_reduce(group.kind);
  double least = std::numeric_limits<double>::infinity();
  for (const ExchangeLine& line : lines) least = std::min(least, line.per_byte);
  return BytesPerSecond(crossing / least);
}

}  // namespace

CollectiveFit fit_collectives(const Platform& platform, const std::vector<NcclTable>& tables) {
  CollectiveFit fit;
  fit.groups = groups_of(platform, tables);
  const CollectiveSpec& spec = platform.spec.collectives;
  FreeConstants free{{spec.latency, spec.efficiency, spec.network_efficiency.value_or(spec.efficiency)}};
  std::vector<GroupModel> models;
  models.reserve(fit.groups.size());
  Groups groups;
  for (const CollectiveGroup& group : fit.groups) {
    groups.emplace_back(&models.emplace_back(platform, group.kind, group.members), &group);
    (group.nodes == 1 ? free.node : free.network) = true;
  }
  fit.has_node = free.node;
  fit.has_network = free.network;
  fit.constants = fitted(free, groups);
  std::vector<NcclTime> times;
  double squares = 0;
  for (std::size_t i = 0; i < fit.groups.size(); ++i) {
    CollectiveGroup& group = fit.groups[i];
    const FreeConstants alone{fit.constants, group.nodes == 1, group.nodes > 1};
    group.alone = fitted(alone, {groups[i]});
    const std::vector<ExchangeLine> lines = models[i].lines(group.alone);
    group.errors_alone = errors_in(lines, group.times);
    group.bus_bandwidth = bus_bandwidth_of(lines, group);
    group.errors = errors_in(models[i].lines(fit.constants), group.times);
    const auto count = static_cast<double>(group.times.size());
    squares += count * group.errors.root_mean_square * group.errors.root_mean_square;
    times.insert(times.end(), group.times.begin(), group.times.end());
    if (std::abs(std::log1p(group.errors.worst)) < std::abs(std::log1p(fit.errors.worst))) continue;
    fit.errors.worst = group.errors.worst;
    fit.errors.worst_size = group.errors.worst_size;
  }
  fit.errors.root_mean_square = std::sqrt(squares / static_cast<double>(times.size()));
  return fit;
}

CollectiveSpec with_constants(const CollectiveSpec& spec, const CollectiveFit& fit) {
  CollectiveSpec result = spec;
  result.table.clear();
  result.latency = fit.constants.latency;
  result.efficiency = fit.constants.node;
  result.network_efficiency.reset();
  if (fit.constants.network != fit.constants.node) result.network_efficiency = fit.constants.network;
  return result;
}

}  // namespace stagecraft
