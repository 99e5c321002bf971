#include "planners/pipedream/recurrence.hpp"

#include "planners/pipedream/level_costs.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <map>
#include <utility>

namespace stagecraft::pipedream {
namespace {

/// The position of a level in the whole pipeline: how often the levels above repeat it, and how many devices come after
/// it. A memory test that counts over the whole pipeline needs tables of its own for each context.
struct Context {
  std::int64_t multiplicity = 1;
  std::int64_t downstream = 0;
  friend auto operator<=>(const Context&, const Context&) = default;
};

/// Lowers least[l] to the minimum of max(a[k + l], s[k + l]) over all blocks k. Eight minima are kept in parallel, so
/// that the compiler can use vector instructions.
void fold(const double* a, const double* s, std::size_t begin, std::size_t end, std::array<double, kBlock>& least) {
  for (std::size_t k = begin; k < end; k += kBlock) {
    for (std::size_t l = 0; l < kBlock; ++l) {
      const double larger = a[k + l] > s[k + l] ? a[k + l] : s[k + l];
      least[l] = larger < least[l] ? larger : least[l];
    }
  }
}

/// A(start..J, r) at entry r * stride + J; infinite if undefined.
struct Ranks {
  std::size_t stride = 0;
  std::vector<double> values;
  [[nodiscard]] double* row(std::size_t r) { return &values[r * stride]; }
  [[nodiscard]] const double* row(std::size_t r) const { return &values[r * stride]; }
};

/// Computes A(start..J, r) for all r from the values of smaller J. `rows` are the rows of J by `fill_rows`.
void step(const LevelCosts& costs, std::size_t start, std::size_t j, const double* rows, Ranks& a) {
  const std::size_t begin = (start + 1) / kBlock * kBlock;
  const std::size_t end = whole_blocks(j);
  for (std::size_t r = 1; r <= costs.members; ++r) {
    std::array<double, kBlock> least{};
    least.fill(kInfinity);
    for (std::size_t q = 1; q < costs.most_replicas(r) && q < r; ++q) {
      if (!costs.allows(q)) continue;
      fold(a.row(r - q), rows + costs.row_index(q, r) * end, begin, end, least);
    }
    double best = std::min(as_one_stage(costs, start, j, r), *std::ranges::min_element(least));
    if (costs.settings->use_fewer && r > 1) best = std::min(best, a.row(r - 1)[j]);
    a.row(r)[j] = best;
  }
}

void reset(const LevelCosts& costs, Ranks& a) {
  a.stride = costs.states->stride;
  a.values.assign((costs.members + 1) * a.stride, kInfinity);
}

/// Whether (start, j] is a segment, that is, whether start precedes j.
bool is_segment(const DownSets& states, std::size_t start, std::size_t j) {
  return start == kNothing || precedes(states, start, j);
}

/// A(start..J, ·) for one start and every J up to `last`. The rows of each J are made when they are needed.
Ranks run_once(const LevelCosts& costs, std::size_t start, std::size_t last) {
  Ranks a;
  reset(costs, a);
  std::vector<double> rows(costs.row_count() * whole_blocks(last));
  for (std::size_t j = start + 1; j <= last; ++j) {
    if (!is_segment(*costs.states, start, j)) continue;
    fill_rows(costs, j, rows.data());
    step(costs, start, j, rows.data(), a);
  }
  return a;
}

/// A(K..J, M) for every segment, which is T of the level above. The rows of all J are made once and used for every
/// start.
Times run_all(const LevelCosts& costs) {
  const DownSets& states = *costs.states;
  std::vector<std::size_t> offset(states.count + 1);
  for (std::size_t j = 0; j < states.count; ++j) offset[j + 1] = offset[j] + costs.row_count() * whole_blocks(j);
  std::vector<double> rows(offset.back());
  for (std::size_t j = 0; j < states.count; ++j) fill_rows(costs, j, rows.data() + offset[j]);
  Times times;
  times.stride = states.count + 1;
  times.values.assign(states.count * times.stride, kInfinity);
  Ranks a;
  for (std::size_t start = kNothing; start + 1 < states.count; ++start) {
    reset(costs, a);
    for (std::size_t j = start + 1; j < states.count; ++j) {
      if (!is_segment(states, start, j)) continue;
      step(costs, start, j, rows.data() + offset[j], a);
      times.values[j * times.stride + start + 1] = a.row(costs.members)[j];
    }
  }
  return times;
}

/// The levels of one problem, with the tables of the inner ones.
class Hierarchy {
 public:
  Hierarchy(const DownSets& states, const Settings& settings) : states_(&states), settings_(&settings) {
    levels_ = settings.levels;
    if (levels_.empty()) levels_.push_back({1, BytesPerSecond(kInfinity)});
    unit_.push_back(1);
    for (const Level& level : levels_) unit_.push_back(unit_.back() * level.count);
  }

  [[nodiscard]] std::size_t outermost() const { return levels_.size() - 1; }

  [[nodiscard]] LevelCosts costs(std::size_t level, const Context& context) {
    const MemoryTest* test = settings_->memory;
    const bool whole = test != nullptr && test->whole_pipeline;
    LevelCosts costs;
    costs.states = states_;
    costs.settings = settings_;
    costs.members = levels_[level].count;
    costs.bandwidth = levels_[level].bandwidth.value();
    costs.boundary_bandwidth = levels_[level].boundary_bandwidth().value();
    costs.below_members = level == 0 ? 1.0 : levels_[level - 1].count;
    const bool tests = test != nullptr && (!whole || level == 0);
    costs.many_below = whole && level > 0;
    costs.rows_differ_by_rank = tests || costs.many_below;
    if (level > 0 && !costs.many_below) costs.below = {&times(level - 1, {})};
    if (costs.many_below) costs.below.resize(costs.members * costs.members);
    if (tests) costs.copies.resize(costs.members * costs.members);
    if (!tests && !costs.many_below) return costs;
    for (std::size_t q = 1; q <= costs.members; ++q) {
      for (std::size_t d = 0; q + d <= costs.members; ++d) {
        const Context inner = inside(level, context, q, d);
        if (costs.many_below) costs.below[costs.place(q, d)] = &times(level - 1, inner);
        if (!tests) continue;
        const Context counted = whole ? inner : Context{std::int64_t(q), std::int64_t(d)};
        costs.copies[costs.place(q, d)] = test->copies(counted.multiplicity, counted.downstream);
      }
    }
    return costs;
  }

  /// The context of a segment on q members of a level with d members after it.
  [[nodiscard]] Context inside(std::size_t level, const Context& context, std::size_t q, std::size_t d) const {
    const bool whole = settings_->memory != nullptr && settings_->memory->whole_pipeline;
    if (!whole) return {};
    return {context.multiplicity * std::int64_t(q),
            context.downstream + context.multiplicity * std::int64_t(d) * unit_[level]};
  }

  /// The best pipeline over (start, end] on all members of a level.
  [[nodiscard]] Answer solve(std::size_t level, const Context& context, std::size_t start, std::size_t end);

 private:
  const Times& times(std::size_t level, const Context& context) {
    const auto key = std::pair(level, context);
    auto found = tables_.find(key);
    if (found == tables_.end()) found = tables_.emplace(key, run_all(costs(level, context))).first;
    return found->second;
  }

  const DownSets* states_;
  const Settings* settings_;
  std::vector<Level> levels_;
  std::vector<std::int64_t> unit_;  // devices in a member of each level
  std::map<std::pair<std::size_t, Context>, Times> tables_;
};

/// The choice that gives A(start..j, r): the last stage is (k, j] on q members. With k = start it is the only stage;
/// with q = 0 the value is that of A(start..j, r - 1), so a member is left idle.
struct Choice {
  double value = kInfinity;
  std::size_t k = kNothing;
  std::size_t q = 0;
};

/// Finds the choice that gives A(start..j, r) by evaluating the recurrence once more; the first of equal choices
/// counts.
Choice choose(const LevelCosts& costs, const Ranks& a, std::size_t start, std::size_t j, std::size_t r,
              std::vector<double>& rows) {
  Choice best{as_one_stage(costs, start, j, r), start, r};
  if (costs.settings->use_fewer && r > 1 && a.row(r - 1)[j] < best.value) best = {a.row(r - 1)[j], start, 0};
  rows.resize(std::max(rows.size(), costs.row_count() * whole_blocks(j)));
  fill_rows(costs, j, rows.data());
  for (std::size_t q = 1; q < costs.most_replicas(r) && q < r; ++q) {
    if (!costs.allows(q)) continue;
    const double* row = rows.data() + costs.row_index(q, r) * whole_blocks(j);
    const double* before = a.row(r - q);
    for (std::size_t k = j; k-- > start + 1;) {
      const double value = std::max(before[k], row[k]);
      if (value < best.value) best = {value, k, q};
    }
  }
  return best;
}

/// Computes A for one start and follows the choices from the last stage back. The inside of each stage is solved in the
/// same way at the level below.
Answer Hierarchy::solve(std::size_t level, const Context& context, std::size_t start, std::size_t end) {
  const LevelCosts level_costs = costs(level, context);
  const Ranks a = run_once(level_costs, start, end);
  std::size_t r = level_costs.members;
  Answer answer{a.row(r)[end], {}};
  if (answer.period == kInfinity) return answer;
  std::vector<double> rows;
  for (std::size_t j = end; j != start;) {
    const Choice choice = choose(level_costs, a, start, j, r, rows);
    STAGECRAFT_CHECK(choice.value < kInfinity, "every segment of the best pipeline is feasible");
    if (choice.q == 0) {
      --r;
      continue;
    }
    Segment segment{choice.k, j, static_cast<std::uint32_t>(choice.q), {}};
    const Context inner = inside(level, context, choice.q, level_costs.members - r);
    if (level > 0) segment.inner = solve(level - 1, inner, choice.k, j).segments;
    answer.segments.push_back(std::move(segment));
    j = choice.k;
    r -= choice.q;
  }
  std::ranges::reverse(answer.segments);
  return answer;
}

double level_period(const DownSets& states, const Settings& settings, std::size_t level,
                    const std::vector<Segment>& segments) {
  const bool is_one_device = settings.levels.empty();
  const double bandwidth = is_one_device ? kInfinity : settings.levels[level].bandwidth.value();
  const double boundary_bandwidth = is_one_device ? kInfinity : settings.levels[level].boundary_bandwidth().value();
  const double below_members = level == 0 ? 1.0 : settings.levels[level - 1].count;
  const auto difference = [](const std::vector<double>& sums, const Segment& segment) {
    return sums[segment.to] - (segment.from == kNothing ? 0.0 : sums[segment.from]);
  };
  double largest = 0.0;
  for (const Segment& segment : segments) {
    const bool is_first = &segment == &segments.front();
    const double q = segment.replicas;
    const double time = level > 0 ? level_period(states, settings, level - 1, segment.inner)
                                  : difference(states.compute, segment) * settings.time_factor + settings.overhead;
    const double sync = 4.0 * settings.exchanged_copies * (q - 1.0) * difference(states.parameters, segment) /
                        (bandwidth * q) / (is_first ? below_members : 1.0) / settings.rounds_per_update;
    largest = std::max(largest, round_time(settings.synchronisation, time, sync) / q);
    if (!settings.communication || is_first) continue;
    const double output = segment.to + 1 == states.count ? 0.0 : states.traffic[segment.to];
    const double links = settings.boundary == BoundaryCost::Whole ? 1.0 : q;
    largest = std::max(largest, 2.0 * std::max(states.traffic[segment.from], output) / (boundary_bandwidth * links));
  }
  return largest;
}

}  // namespace

Answer optimize(const DownSets& states, const Settings& settings) {
  Hierarchy hierarchy(states, settings);
  return hierarchy.solve(hierarchy.outermost(), {}, kNothing, states.count - 1);
}

double transitions(std::size_t state_count, const Settings& settings) {
  const auto n = static_cast<double>(state_count);
  const bool whole = settings.memory != nullptr && settings.memory->whole_pipeline;
  double contexts = 1.0;
  double sum = 0.0;
  for (std::size_t level = settings.levels.size(); level-- > 0;) {
    const double members = settings.levels[level].count;
    const double steps = settings.straight ? members - 1.0 : members * (members - 1.0) / 2.0;
    const bool outermost = level + 1 == settings.levels.size();
    const double segments = outermost ? n * (n - 1.0) / 2.0 : (n + 1.0) * n * (n - 1.0) / 6.0;
    sum += contexts * segments * steps;
    if (whole) contexts *= members * (members + 1.0) / 2.0;
  }
  return sum * settings.solves;
}

double period_of(const DownSets& states, const Settings& settings, const std::vector<Segment>& segments) {
  return level_period(states, settings, settings.levels.empty() ? 0 : settings.levels.size() - 1, segments);
}

double data_parallel_time(const DownSets& states, const Settings& settings) {
  double time = states.compute[states.count - 1] * settings.time_factor + settings.overhead;
  double below_members = 1.0;
  for (const Level& level : settings.levels) {
    const double members = level.count;
    const double sync = 4.0 * settings.exchanged_copies * (members - 1.0) * states.parameters[states.count - 1] /
                        (level.bandwidth.value() * members);
    time = round_time(settings.synchronisation, time, sync / below_members / settings.rounds_per_update) / members;
    below_members = members;
  }
  return time;
}

}  // namespace stagecraft::pipedream
