#include "planners/shared/turns/turn_order.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/turns/assignment.hpp"
#include "planners/shared/turns/turn_costs.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

constexpr int kMostSweeps = 16;

/// Which rows of a matrix are equal: for each row its kind, numbered in the order of their first rows.
std::vector<std::size_t> kinds_of_rows(const std::vector<std::int64_t>& matrix, std::size_t rows) {
  const std::size_t width = matrix.size() / rows;
  const auto row = [&](std::size_t i) { return std::span(matrix).subspan(i * width, width); };
  const auto before = [&](std::size_t a, std::size_t b) {
    return std::ranges::lexicographical_compare(row(a), row(b));
  };
  std::map<std::size_t, std::size_t, decltype(before)> kinds(before);
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < rows; ++i) result.push_back(kinds.try_emplace(i, kinds.size()).first->second);
  return result;
}

/// The items of each kind, in their order.
std::vector<std::vector<std::uint32_t>> by_kind(const std::vector<std::size_t>& kinds,
                                                const std::vector<std::uint32_t>& items) {
  std::vector<std::vector<std::uint32_t>> members(1 + std::ranges::max(kinds));
  for (std::uint32_t item : items) members[kinds[item]].push_back(item);
  return members;
}

std::vector<std::int64_t> sizes_of(const std::vector<std::vector<std::uint32_t>>& kinds) {
  std::vector<std::int64_t> sizes;
  for (const std::vector<std::uint32_t>& members : kinds) sizes.push_back(static_cast<std::int64_t>(members.size()));
  return sizes;
}

std::vector<std::uint32_t> count_up(std::size_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

/// The entries at the first row of each kind and all columns, or, transposed, at all rows.
std::vector<std::int64_t> first_rows(const std::vector<std::int64_t>& matrix, std::size_t width,
                                     const std::vector<std::vector<std::uint32_t>>& kinds) {
  std::vector<std::int64_t> rows;
  for (const std::vector<std::uint32_t>& members : kinds) {
    const auto row = std::span(matrix).subspan(members.front() * width, width);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

std::vector<std::int64_t> transposed(const std::vector<std::int64_t>& matrix, std::size_t rows) {
  const std::size_t columns = matrix.size() / rows;
  std::vector<std::int64_t> result(matrix.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) result[j * rows + i] = matrix[i * columns + j];
  }
  return result;
}

/// The order of replicas with the least sum of costs. `costs`: by turn, then by replica. `by_device`: the replicas by
/// increasing device; turns that cost the same get theirs in this order.
std::vector<std::uint32_t> cheapest_order(const std::vector<std::int64_t>& costs,
                                          const std::vector<std::uint32_t>& by_device) {
  const std::size_t count = by_device.size();
  const auto turns = by_kind(kinds_of_rows(costs, count), count_up(count));
  const std::vector<std::int64_t> columns = transposed(first_rows(costs, count, turns), turns.size());
  auto replicas = by_kind(kinds_of_rows(columns, count), by_device);
  Assignment problem{sizes_of(turns), sizes_of(replicas),
                     transposed(first_rows(columns, turns.size(), replicas), replicas.size())};
  const std::vector<std::int64_t> given = cheapest_assignment(problem);
  std::vector<std::uint32_t> rank(count);
  for (std::size_t i = 0; i < count; ++i) rank[by_device[i]] = static_cast<std::uint32_t>(i);
  std::vector<std::uint32_t> order(count);
  std::vector<std::size_t> used(replicas.size());
  for (std::size_t t = 0; t < turns.size(); ++t) {
    std::vector<std::uint32_t> own;
    for (std::size_t r = 0; r < replicas.size(); ++r) {
      for (std::int64_t left = given[t * replicas.size() + r]; left > 0; --left) own.push_back(replicas[r][used[r]++]);
    }
    std::ranges::sort(own, {}, [&](std::uint32_t replica) { return rank[replica]; });
    for (std::size_t i = 0; i < own.size(); ++i) order[turns[t][i]] = own[i];
  }
  return order;
}

/// Chooses the orders of turns for one plan.
class TurnSearch {
 public:
  TurnSearch(const LayerGraph& graph, const Platform& platform, const Plan& plan)
      : platform_(platform), plan_(plan), costs_(graph, platform, plan) {
    for (const Stage& stage : plan.stages) {
      planned_.push_back(count_up(stage.replicas.size()));
      by_device_.push_back(planned_.back());
      std::ranges::sort(by_device_.back(), {}, [&](std::uint32_t at) { return stage.replicas[at].lead(); });
    }
  }

  /// The best orders found; none if the plan's own are as good.
  [[nodiscard]] std::optional<Turns> run() const {
    std::optional<Turns> best;
    std::int64_t least = costs_.total(planned_);
    for (int attempt = 0; attempt < kAttempts && least > costs_.least(); ++attempt) {
      Turns turns = first_orders(attempt);
      improve(turns);
      const std::int64_t total = costs_.total(turns);
      if (total >= least) continue;
      least = total;
      best = std::move(turns);
    }
    return best;
  }

 private:
  static constexpr int kAttempts = 4;
  [[nodiscard]] Turns first_orders(int attempt) const {
    switch (attempt) {
      case 0: return grown(planned_);
      case 1: return grown(dealt());
      case 2: return grown(by_device_);
      default: return planned_;
    }
  }

  /// The first devices of all nodes, then the second ones, and so on.
  [[nodiscard]] Turns dealt() const {
    Turns turns = by_device_;
    for (std::size_t s = 0; s < turns.size(); ++s) {
      std::map<NodeId, std::size_t> seen;
      std::vector<std::pair<std::size_t, std::uint32_t>> ranked;
      for (std::uint32_t at : turns[s]) {
        ranked.emplace_back(seen[platform_.devices[plan_.stages[s].replicas[at].lead()].node]++, at);
      }
      std::ranges::stable_sort(ranked, {}, [](const auto& item) { return item.first; });
      for (std::size_t i = 0; i < ranked.size(); ++i) turns[s][i] = ranked[i].second;
    }
    return turns;
  }

  /// Stages one after the other, each with the best order for those before it that it exchanges with: first the one
  /// with the fewest replicas, then always the one that exchanges the most with them. A stage that exchanges nothing
  /// with those before it has the order of `start`.
  [[nodiscard]] Turns grown(const Turns& start) const {
    Turns turns = start;
    std::vector<char> is_placed(turns.size());
    for (std::size_t count = 0; count < turns.size(); ++count) {
      const auto [stage, has_partners] = next_stage(is_placed);
      if (has_partners) turns[stage] = cheapest_order(costs_.costs(stage, turns, is_placed), by_device_[stage]);
      is_placed[stage] = 1;
    }
    return turns;
  }

  [[nodiscard]] std::pair<std::size_t, bool> next_stage(const std::vector<char>& is_placed) const {
    std::vector<std::int64_t> exchanged(is_placed.size());  // bytes with stages that are placed
    for (const StageTraffic& exchange : costs_.exchanges()) {
      if (is_placed[exchange.from] != 0) exchanged[exchange.to] += exchange.bytes.value();
      if (is_placed[exchange.to] != 0) exchanged[exchange.from] += exchange.bytes.value();
    }
    std::size_t next = is_placed.size();
    for (std::size_t s = 0; s < is_placed.size(); ++s) {
      if (is_placed[s] != 0) continue;
      const auto rank = [&](std::size_t stage) { return std::tuple(-exchanged[stage], costs_.replicas(stage)); };
      if (next == is_placed.size() || rank(s) < rank(next)) next = s;
    }
    return {next, exchanged[next] > 0};
  }

  /// Lets each stage in turn have the best order for the others, until none can do better.
  void improve(Turns& turns) const {
    const std::vector<char> all(turns.size(), 1);
    bool is_better = true;
    for (int sweep = 0; is_better && sweep < kMostSweeps; ++sweep) {
      is_better = false;
      for (std::size_t stage = 0; stage < turns.size(); ++stage) is_better |= improve(stage, turns, all);
    }
  }

  bool improve(std::size_t stage, Turns& turns, const std::vector<char>& all) const {
    const std::vector<std::int64_t> costs = costs_.costs(stage, turns, all);
    const auto sum = [&](const std::vector<std::uint32_t>& order) {
      std::int64_t total = 0;
      for (std::size_t turn = 0; turn < order.size(); ++turn) total += costs[turn * order.size() + order[turn]];
      return total;
    };
    std::vector<std::uint32_t> order = cheapest_order(costs, by_device_[stage]);
    if (sum(order) >= sum(turns[stage])) return false;
    turns[stage] = std::move(order);
    return true;
  }

  const Platform& platform_;
  const Plan& plan_;
  TurnCosts costs_;
  Turns planned_;
  Turns by_device_;
};

/// Gives the replicas new turns. The ring of the all-reduce stays the same.
void reorder(Stage& stage, const std::vector<std::uint32_t>& turns) {
  if (std::ranges::is_sorted(turns)) return;
  std::vector<std::uint32_t> turn_of(turns.size());
  std::vector<Group> replicas;
  for (std::uint32_t turn = 0; turn < turns.size(); ++turn) {
    turn_of[turns[turn]] = turn;
    replicas.push_back(stage.replicas[turns[turn]]);
  }
  std::vector<std::uint32_t> ring = stage.ring.empty() ? count_up(turns.size()) : std::move(stage.ring);
  for (std::uint32_t& member : ring) member = turn_of[member];
  stage.ring = std::ranges::is_sorted(ring) ? std::vector<std::uint32_t>() : std::move(ring);
  stage.replicas = std::move(replicas);
}

}  // namespace

bool order_turns(const LayerGraph& graph, const Platform& platform, Plan& plan) {
  const std::optional<Turns> turns = TurnSearch(graph, platform, plan).run();
  if (!turns) return false;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) reorder(plan.stages[s], (*turns)[s]);
  return true;
}

Planned with_ordered_turns(const PlanRequest& request, Planned planned) {
  Plan plan = planned.plan;
  if (!order_turns(request.graph, request.platform, plan)) return planned;
  const Compilation compilation = compile_schedule(request.graph, request.platform, plan);
  if (!std::holds_alternative<ScheduleProgram>(compilation)) return planned;
  const auto& program = std::get<ScheduleProgram>(compilation);
  plan.predicted.peak_memory = ledger_peaks(request.graph, request.platform, program);
  const bool fitted = !memory_overflow(request.platform, plan, planned.plan.predicted.peak_memory);
  if (fitted && memory_overflow(request.platform, plan, plan.predicted.peak_memory)) return planned;
  planned.plan = std::move(plan);
  return planned;
}

}  // namespace stagecraft
