#include "planners/vpipe/neighbour_moves.hpp"
#include "planners/vpipe/stage_savings.hpp"
#include "planners/vpipe/start_cuts.hpp"
#include "tests/planners/saving_cases.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace stagecraft::vpipe_moves_test {

using namespace stagecraft::testing;
using namespace stagecraft::vpipe;

namespace {

using Cuts = std::vector<std::size_t>;

CostOfStage cost_by(StageSavings& stages) {
  return [&](std::size_t stage, std::size_t begin, std::size_t end) { return stages.cost(stage, begin, end); };
}

StageSavings savings_of(const SavingChain& chain) {
  return StageSavings(
      [&chain](std::size_t stage, std::size_t begin, std::size_t end) { return chain.stage(stage, begin, end); }, {});
}

std::vector<double> times_of(const CostOfStage& cost, const Cuts& cuts) {
  std::vector<double> times;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) times.push_back(cost(s, cuts[s], cuts[s + 1]).time.value());
  return times;
}

std::vector<double> largest_first(std::vector<double> times) {
  std::ranges::sort(times, std::greater<>());
  return times;
}

/// Calls `visit` with all cuts of `units` into `stages`, the smallest ones first.
void all_cuts(std::size_t units, std::size_t stages, const std::function<void(const Cuts&)>& visit) {
  Cuts cuts{0};
  const std::function<void()> go = [&] {
    if (cuts.size() == stages) {
      cuts.push_back(units);
      visit(cuts);
      cuts.pop_back();
      return;
    }
    for (std::size_t cut = cuts.back() + 1; cut + (stages - cuts.size()) <= units; ++cut) {
      cuts.push_back(cut);
      go();
      cuts.pop_back();
    }
  };
  go();
}

/// The least largest time of all cuts in which no stage lacks memory: a dynamic program over prefixes.
double least_largest(const CostOfStage& cost, std::size_t units, std::size_t stages) {
  const double none = std::numeric_limits<double>::infinity();
  std::vector<double> best(units + 1, none);
  best[0] = 0.0;
  for (std::size_t s = 0; s < stages; ++s) {
    std::vector<double> next(units + 1, none);
    for (std::size_t end = 1; end <= units; ++end) {
      for (std::size_t begin = 0; begin < end; ++begin) {
        if (best[begin] >= next[end]) continue;
        const StageCost last = cost(s, begin, end);
        if (last.overflow == Bytes(0)) next[end] = std::min(next[end], std::max(best[begin], last.time.value()));
      }
    }
    best = next;
  }
  return best[units];
}

/// What cuts are compared by, in the specification's order.
using Key = std::tuple<std::int64_t, std::vector<double>, std::int64_t>;
Key key_of(const CostOfStage& cost, const Cuts& cuts, const std::optional<RunningPlan>& running) {
  std::int64_t overflow = 0;
  std::int64_t moved = 0;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    overflow += cost(s, cuts[s], cuts[s + 1]).overflow.value();
    for (std::size_t u = cuts[s]; running && u < cuts[s + 1]; ++u) {
      if (u < running->cuts[s] || u >= running->cuts[s + 1]) moved += running->bytes[u].value();
    }
  }
  return {overflow, largest_first(times_of(cost, cuts)), moved};
}

/// The specification's loop, written down once more.
MovedUnits plain_moves(const Cuts& start, const CostOfStage& cost, const std::optional<RunningPlan>& running) {
  Cuts settled = start;
  for (std::int64_t passes = 1;; ++passes) {
    Cuts present = settled;
    Cuts best = settled;
    std::set<std::size_t> locked;
    while (true) {
      std::optional<std::pair<Cuts, std::size_t>> chosen;
      for (std::size_t j = 1; j + 1 < present.size(); ++j) {
        for (const bool left : {true, false}) {
          const std::size_t unit = left ? present[j] - 1 : present[j];
          Cuts moved = present;
          moved[j] = left ? present[j] - 1 : present[j] + 1;
          if (moved[j] == present[j - 1] || moved[j] == present[j + 1] || locked.contains(unit)) continue;
          if (!chosen || key_of(cost, moved, running) < key_of(cost, chosen->first, running)) chosen = {moved, unit};
        }
      }
      if (!chosen) break;
      present = chosen->first;
      locked.insert(chosen->second);
      if (key_of(cost, present, running) < key_of(cost, best, running)) best = present;
    }
    if (best == settled) return {settled, passes};
    settled = best;
  }
}

SavingChain random_chain(std::mt19937_64& random, std::size_t units, std::int64_t stages) {
  const auto upto = [&](std::uint64_t most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  SavingChain chain;
  chain.holds_to_end = false;
  chain.stages = stages;
  chain.bandwidth = static_cast<double>(upto(1)) / 2.0;
  for (std::size_t i = 0; i < units; ++i) {
    const auto forward = static_cast<double>(1 + upto(5));
    const std::int64_t stash = 1 + upto(9);
    chain.units.push_back(unit(forward, 2 * forward, stash, upto(static_cast<std::uint64_t>(stash) / 2)));
    chain.parameters.push_back(upto(3));
  }
  return chain;
}

Cuts balanced(const SavingChain& chain) {
  return least_sorted_cuts(chain.units.size(), static_cast<std::size_t>(chain.stages),
                           [&](std::size_t, std::size_t begin, std::size_t end) {
                             Seconds sum;
                             for (; begin < end; ++begin)
                               sum += chain.units[begin].forward + chain.units[begin].backward;
                             return ticks_up(sum);
                           });
}

/// Gives the chain 60 to 95 % of the memory that the fullest stage of the cuts takes if all is kept.
void limit_memory(SavingChain& chain, const Cuts& cuts, std::uint64_t percent) {
  std::int64_t largest = 0;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    const SavingStage stage = chain.stage(s, cuts[s], cuts[s + 1]);
    const std::vector<UnitAction> kept(stage.units.size());
    largest = std::max(largest, saved_memory(stage, kept).value());
  }
  chain.capacity = Bytes(largest * static_cast<std::int64_t>(60 + percent) / 100);
}

/// How good the moves are against all cuts with the same savings.
struct Quality {
  int feasible = 0;
  int optimal = 0;
  int stuck = 0;  ///< cases in which some cuts fit, but not those of the moves
  double worst = 1.0;
  double sum = 0.0;
  std::int64_t passes = 0;
};

Quality quality_of_moves(std::size_t units, std::int64_t stages, int cases) {
  std::mt19937_64 random(29);
  Quality quality;
  for (int i = 0; i < cases; ++i) {
    SavingChain chain = random_chain(random, units, stages);
    const Cuts start = balanced(chain);
    limit_memory(chain, start, random() % 36);
    StageSavings savings = savings_of(chain);
    const CostOfStage cost = cost_by(savings);
    const double least = least_largest(cost, units, static_cast<std::size_t>(stages));
    const MovedUnits moved = move_units(start, cost);
    quality.passes += moved.passes;
    const auto [overflow, times, bytes] = key_of(cost, moved.cuts, std::nullopt);
    if (least == std::numeric_limits<double>::infinity()) {
      CHECK(overflow > 0);
      continue;
    }
    ++quality.feasible;
    quality.stuck += overflow > 0 ? 1 : 0;
    if (overflow > 0) continue;
    quality.optimal += times.front() == least ? 1 : 0;
    quality.worst = std::max(quality.worst, times.front() / least);
    quality.sum += times.front() / least;
  }
  MESSAGE(units, " units on ", stages, " stages: ", quality.optimal, " of ", quality.feasible, ", stuck ",
          quality.stuck, ", worst ", quality.worst, ", mean ", quality.sum / (quality.feasible - quality.stuck),
          ", passes ", static_cast<double>(quality.passes) / cases);
  return quality;
}

}  // namespace

TEST_CASE("vpipe moves: the specification's 24 units, with capacities that force units to earlier or later stages") {
  struct Row {
    std::int64_t capacity;
    std::vector<double> start, moved;
    std::vector<std::string> actions;
  };
  const std::vector<Row> rows = {{110, {46, 42, 36, 36}, {36, 42, 36, 42}, {"rrrkk", "rrrkkk", "kkkkkk", "kkkkkkk"}},
                                 {95, {46, 44, 40, 36}, {38, 44, 40, 42}, {"rrrrk", "rrrrkk", "rrkkkk", "kkkkkkk"}},
                                 {80, {48, 46, 42, 36}, {38, 46, 42, 42}, {"rrrrk", "rrrrrk", "rrrkkk", "kkkkkkk"}}};
  SavingChain chain = equal_units(24, unit(2, 4, 6, 1), 1);
  CHECK(balanced(chain) == Cuts{0, 6, 12, 18, 24});
  for (const Row& row : rows) {
    CAPTURE(row.capacity);
    chain.capacity = Bytes(row.capacity);
    StageSavings savings = savings_of(chain);
    const CostOfStage cost = cost_by(savings);
    CHECK(times_of(cost, {0, 6, 12, 18, 24}) == row.start);
    const MovedUnits moved = move_units({0, 6, 12, 18, 24}, cost);
    CHECK(moved.cuts == Cuts{0, 5, 11, 17, 24});
    CHECK(moved.passes == 2);
    CHECK(times_of(cost, moved.cuts) == row.moved);
    for (std::size_t s = 0; s < 4; ++s) {
      CHECK(action_letters(savings.savings(s, moved.cuts[s], moved.cuts[s + 1])->actions) == row.actions[s]);
    }
    double least = std::numeric_limits<double>::infinity();
    all_cuts(24, 4, [&](const Cuts& cuts) {
      const auto [overflow, times, bytes] = key_of(cost, cuts, std::nullopt);
      if (overflow == 0) least = std::min(least, times.front());
    });
    CHECK(*std::ranges::max_element(row.moved) == least);
    CHECK(least_largest(cost, 24, 4) == least);
  }
}

TEST_CASE("vpipe moves: for a stage that has become slow the cuts with the fewest units moved") {
  SavingChain chain = equal_units(16, unit(1, 2, 6, 1), 4);
  chain.capacity = Bytes(100'000);
  chain.slowdown = {1.0, 1.5, 1.0, 1.0};
  StageSavings savings = savings_of(chain);
  const CostOfStage cost = cost_by(savings);
  const Cuts before{0, 4, 8, 12, 16};
  CHECK(times_of(cost, before) == std::vector<double>{12, 18, 12, 12});
  const RunningPlan running{before, std::vector<Bytes>(16, Bytes(1))};
  const MovedUnits moved = move_units(before, cost, running);
  CHECK(moved.cuts == Cuts{0, 5, 8, 12, 16});
  CHECK(times_of(cost, moved.cuts) == std::vector<double>{15, 13.5, 12, 12});
  // Of all cuts the smallest ones with the least sorted times move two units; only the bytes tell the two apart.
  std::optional<std::pair<Key, Cuts>> best;
  all_cuts(16, 4, [&](const Cuts& cuts) {
    const Key key = key_of(cost, cuts, std::nullopt);
    if (!best || key < best->first) best = {key, cuts};
  });
  CHECK(best->second == Cuts{0, 4, 7, 11, 16});
  CHECK(std::get<1>(best->first) == largest_first(times_of(cost, moved.cuts)));
  CHECK(std::get<2>(key_of(cost, best->second, running)) == 2);
  CHECK(std::get<2>(key_of(cost, moved.cuts, running)) == 1);
  CHECK(move_units(best->second, cost).cuts == best->second);
  // From there only the bytes make a difference. The third stage takes 15 s now, and one unit has moved.
  CHECK(move_units(best->second, cost, running).cuts == Cuts{0, 4, 7, 12, 16});
}

TEST_CASE("vpipe moves: the cuts and passes of the plain loop") {
  std::mt19937_64 random(31);
  for (int i = 0; i < random_cases(400); ++i) {
    CAPTURE(i);
    const auto stages = static_cast<std::int64_t>(1 + random() % 5);
    const std::size_t units = static_cast<std::size_t>(stages) + random() % 8;
    SavingChain chain = random_chain(random, units, stages);
    Cuts start{0};
    for (std::size_t s = 1; s < static_cast<std::size_t>(stages); ++s) start.push_back(s);
    start.push_back(units);
    limit_memory(chain, start, random() % 36);
    StageSavings savings = savings_of(chain);
    std::optional<RunningPlan> running;
    if (random() % 2 == 0) running = RunningPlan{balanced(chain), std::vector<Bytes>(units, Bytes(3))};
    const MovedUnits moved = move_units(start, cost_by(savings), running);
    const MovedUnits plain = plain_moves(start, cost_by(savings), running);
    CHECK(moved.cuts == plain.cuts);
    CHECK(moved.passes == plain.passes);
  }
}

TEST_CASE("vpipe moves: nearly always as good as the best cuts, with the same savings") {
  // The specification has 129 of 132 optimal, 1 stuck, at worst 1.21 for 10 units, and 145 of 148, 1 stuck, 1.12
  // for 12.
  const int cases = random_cases(200);
  const Quality ten = quality_of_moves(10, 3, cases);
  const Quality twelve = quality_of_moves(12, 4, cases);
  for (const Quality& quality : {ten, twelve}) {
    CHECK(quality.feasible > cases / 2);
    CHECK(quality.optimal * 100 >= quality.feasible * 95);
    CHECK(quality.worst <= 1.25);
    CHECK(quality.passes < 2 * cases);
  }
}

TEST_CASE("vpipe moves: rarely far from the best cuts of as many units as a network has") {
  // 38 of 40 are optimal, at worst 1.07.
  const Quality quality = quality_of_moves(48, 8, random_cases(40));
  CHECK(quality.stuck == 0);
  CHECK(quality.optimal * 100 >= quality.feasible * 80);
  CHECK(quality.worst <= 1.15);
}

TEST_CASE("vpipe moves: balanced starts have the least sorted times and the earliest last cuts") {
  std::mt19937_64 random(37);
  for (int i = 0; i < random_cases(300); ++i) {
    CAPTURE(i);
    const std::size_t stages = 1 + random() % 4;
    const std::size_t units = stages + random() % 7;
    std::vector<Ticks> time;
    std::vector<Ticks> behind;  // the least time of a stage that ends there, as of a transfer
    for (std::size_t u = 0; u <= units; ++u) {
      time.push_back(static_cast<Ticks>(random() % 5));
      behind.push_back(static_cast<Ticks>(random() % 9));
    }
    const std::vector<Ticks> factor = {1, 2, 1, 3};
    const TimeOfStage time_of = [&](std::size_t stage, std::size_t begin, std::size_t end) {
      Ticks sum = 0;
      for (; begin < end; ++begin) sum += time[begin];
      return std::max(sum * factor[stage], behind[end]);
    };
    std::optional<std::pair<std::vector<Ticks>, Cuts>> best;  // times sorted; then cuts, the last one first
    all_cuts(units, stages, [&](const Cuts& cuts) {
      std::vector<Ticks> times;
      for (std::size_t s = 0; s < stages; ++s) times.push_back(time_of(s, cuts[s], cuts[s + 1]));
      std::ranges::sort(times, std::greater<>());
      const std::pair<std::vector<Ticks>, Cuts> found{times, Cuts(cuts.rbegin(), cuts.rend())};
      if (!best || found < *best) best = found;
    });
    Cuts cuts = least_sorted_cuts(units, stages, time_of);
    std::ranges::reverse(cuts);
    CHECK(cuts == best->second);
  }
}

}  // namespace stagecraft::vpipe_moves_test
