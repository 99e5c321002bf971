#include "planners/shared/turns/turn_costs.hpp"

#include "sim/model/bandwidths.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/boundaries.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace stagecraft {
namespace {

// All exchanges together have the first of these weights, so no sum exceeds 2^60.
constexpr double kWeight = 0x1p32;
constexpr double kNarrowest = 0x1p20;                      ///< price of the narrowest pair of devices
constexpr double kApart = 0x1p26;                          ///< price of devices that are not connected
constexpr std::size_t kMostPairs = std::size_t{1} << 22U;  ///< of replicas of two stages

/// The bandwidth of a pair of devices in the slower direction: infinite for a device with itself, none if they are not
/// connected.
std::optional<double> slower_bandwidth(const Platform& platform, DeviceId a, DeviceId b, Route& route) {
  double least = std::numeric_limits<double>::infinity();
  if (a == b) return least;
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    const std::optional<PairCost> cost = pair_cost(platform, from, to, PairUse::Boundary, route);
    if (!cost) return std::nullopt;
    if (cost->bandwidth) least = std::min(least, cost->bandwidth->value());
  }
  return least;
}

/// Whether another order of turns can change who exchanges with whom: not if every replica of the one stage exchanges
/// the same with every replica of the other.
bool do_orders_matter(const Stage& a, const Stage& b) {
  if (a.replicas.size() * b.replicas.size() > kMostPairs || a.replication != b.replication) return false;
  if (a.replication == Replication::Split) return a.replicas.size() > 1 && b.replicas.size() > 1;
  return std::gcd(a.replicas.size(), b.replicas.size()) > 1;
}

/// How many of `mine` * `others` parts of a divided microbatch the i-th of `mine` replicas shares with the j-th of
/// `others`.
std::int64_t overlap(std::size_t i, std::size_t mine, std::size_t j, std::size_t others) {
  const std::size_t begin = std::max(i * others, j * mine);
  const std::size_t end = std::min((i + 1) * others, (j + 1) * mine);
  return end > begin ? static_cast<std::int64_t>(end - begin) : 0;
}

}  // namespace

TurnCosts::TurnCosts(const LayerGraph& graph, const Platform& platform, const Plan& plan) : plan_(plan) {
  double whole = 0.0;
  for (const Boundary& boundary : boundaries(graph, plan)) {
    const Stage& from = plan.stages[boundary.from.value()];
    if (!do_orders_matter(from, plan.stages[boundary.to.value()])) continue;
    StageTraffic exchange;
    exchange.from = boundary.from.value();
    exchange.to = boundary.to.value();
    exchange.bytes = boundary.bytes;
    exchange.split = from.replication == Replication::Split;
    exchanges_.push_back(std::move(exchange));
    whole += static_cast<double>(boundary.bytes.value());
  }
  for (StageTraffic& exchange : exchanges_) {
    const double share = whole > 0.0 ? static_cast<double>(exchange.bytes.value()) / whole : 0.0;
    exchange.weight = std::max<std::int64_t>(1, std::llround(share * kWeight / parts(exchange)));
  }
  fill_prices(platform);
}

std::size_t TurnCosts::replicas(std::size_t stage) const { return plan_.stages[stage].replicas.size(); }

std::int64_t TurnCosts::total(const Turns& turns) const {
  std::int64_t sum = 0;
  for (const StageTraffic& exchange : exchanges_) {
    const std::vector<std::int64_t> costs = costs_of(exchange, exchange.from, turns);
    const std::size_t count = replicas(exchange.from);
    for (std::size_t turn = 0; turn < count; ++turn) sum += costs[turn * count + turns[exchange.from][turn]];
  }
  return sum;
}

std::int64_t TurnCosts::least() const {
  std::int64_t sum = 0;
  for (const StageTraffic& exchange : exchanges_) {
    sum += exchange.weight * static_cast<std::int64_t>(parts(exchange)) * std::ranges::min(exchange.prices);
  }
  return sum;
}

std::vector<std::int64_t> TurnCosts::costs(std::size_t stage, const Turns& turns,
                                           const std::vector<char>& counts) const {
  std::vector<std::int64_t> sum(replicas(stage) * replicas(stage));
  for (const StageTraffic& exchange : exchanges_) {
    if (exchange.from != stage && exchange.to != stage) continue;
    if (counts[exchange.from == stage ? exchange.to : exchange.from] == 0) continue;
    const std::vector<std::int64_t> part = costs_of(exchange, stage, turns);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  return sum;
}

/// The number of equal parts into which an exchange is divided.
double TurnCosts::parts(const StageTraffic& exchange) const {
  const std::size_t from = replicas(exchange.from);
  const std::size_t to = replicas(exchange.to);
  return static_cast<double>(exchange.split ? from * to : std::lcm(from, to));
}

void TurnCosts::fill_prices(const Platform& platform) {
  Route route;
  double narrowest = std::numeric_limits<double>::infinity();
  std::vector<std::vector<std::optional<double>>> bandwidths;
  for (const StageTraffic& exchange : exchanges_) {
    std::vector<std::optional<double>>& own = bandwidths.emplace_back();
    own.reserve(replicas(exchange.from) * replicas(exchange.to));
    for (const Group& from : plan_.stages[exchange.from].replicas) {
      for (const Group& to : plan_.stages[exchange.to].replicas) {
        own.push_back(slower_bandwidth(platform, from.lead(), to.lead(), route));
        narrowest = std::min(narrowest, own.back().value_or(narrowest));
      }
    }
  }
  for (std::size_t i = 0; i < exchanges_.size(); ++i) {
    exchanges_[i].prices.reserve(bandwidths[i].size());
    for (const std::optional<double>& bandwidth : bandwidths[i]) {
      double price = bandwidth ? 0.0 : kApart;
      if (bandwidth && !std::isinf(*bandwidth)) price = std::round(kNarrowest * (narrowest / *bandwidth));
      exchanges_[i].prices.push_back(static_cast<std::uint32_t>(price));
    }
  }
}

/// The cost of each replica of `stage` at each turn, for the turns of the stage that it exchanges with. If they take
/// turns, turns that agree modulo the common divisor of both numbers of replicas cost the same.
std::vector<std::int64_t> TurnCosts::costs_of(const StageTraffic& exchange, std::size_t stage,
                                              const Turns& turns) const {
  const bool is_from = exchange.from == stage;
  const std::vector<std::uint32_t>& partner = turns[is_from ? exchange.to : exchange.from];
  const std::size_t mine = replicas(stage);
  const std::size_t others = partner.size();
  const std::size_t columns = replicas(exchange.to);
  const std::size_t period = exchange.split ? mine : std::gcd(mine, others);
  std::vector<std::int64_t> costs(mine * mine);
  for (std::size_t i = 0; i < mine; ++i) {
    const std::span row = std::span(costs).subspan(i * mine, mine);
    if (i >= period) {
      std::ranges::copy(std::span(costs).subspan((i - period) * mine, mine), row.begin());
      continue;
    }
    const std::size_t begin = exchange.split ? i * others / mine : i;
    const std::size_t end = exchange.split ? ((i + 1) * others + mine - 1) / mine : others;
    for (std::size_t j = begin; j < end; j += exchange.split ? 1 : period) {
      const std::int64_t weight = exchange.split ? exchange.weight * overlap(i, mine, j, others) : exchange.weight;
      for (std::size_t at = 0; at < mine; ++at) {
        row[at] += weight * exchange.prices[is_from ? at * columns + partner[j] : partner[j] * columns + at];
      }
    }
  }
  return costs;
}

}  // namespace stagecraft
