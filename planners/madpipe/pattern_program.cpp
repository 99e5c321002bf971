#include "planners/madpipe/pattern_program.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::madpipe {
namespace {

struct Columns {
  std::size_t tasks;
  std::size_t pairs;
  [[nodiscard]] std::size_t start(std::size_t task) const { return task; }
  [[nodiscard]] std::size_t turns(std::size_t pair) const { return tasks + pair; }
  [[nodiscard]] std::size_t frequency() const { return tasks + pairs; }
};

double ratio(Ticks a, Ticks b) { return static_cast<double>(a) / static_cast<double>(b); }

/// An upper bound of the turns of a pair of tasks, since no task waits a whole period after the task before it in the
/// chain.
double most_turns(const PatternProblem& problem, const TaskPair& pair, Ticks shortest) {
  double work = 0.0;
  for (std::size_t o = pair.first; o < pair.second; ++o) work += ratio(problem.tasks[o].duration, shortest);
  return std::floor(work + static_cast<double>(pair.second - pair.first) + 1e-6);
}

void add_columns(MixedProgram& program, const PatternProblem& problem, Ticks shortest, Ticks longest) {
  for (std::size_t o = 0; o < problem.tasks.size(); ++o) {
    program.columns.push_back({0.0, o == 0 ? 0.0 : kUnbounded, 0.0, false});
  }
  for (const TaskPair& pair : problem.pairs) {
    program.columns.push_back({0.0, most_turns(problem, pair, shortest), 0.0, true});
  }
  program.columns.push_back({ratio(problem.least, longest), ratio(problem.least, shortest), -1.0, false});
}

void add_rows(MixedProgram& program, const PatternProblem& problem, const Columns& at) {
  const auto share = [&](std::size_t task) { return ratio(problem.tasks[task].duration, problem.least); };
  for (std::size_t o = 0; o + 1 < problem.tasks.size(); ++o) {
    program.rows.push_back({{{at.start(o + 1), 1.0}, {at.start(o), -1.0}, {at.frequency(), -share(o)}}, 0.0, 1.0});
  }
  for (std::size_t p = 0; p < problem.pairs.size(); ++p) {
    const auto [i, j] = problem.pairs[p];
    program.rows.push_back(
        {{{at.start(j), 1.0}, {at.start(i), -1.0}, {at.turns(p), -1.0}, {at.frequency(), -share(i)}}, 0.0, kUnbounded});
    program.rows.push_back(
        {{{at.start(j), 1.0}, {at.start(i), -1.0}, {at.turns(p), -1.0}, {at.frequency(), share(j)}}, -kUnbounded, 1.0});
  }
}

/// Redundant rows that tighten the program: for three tasks of a resource, the turns of the outer pair are those of the
/// two inner pairs together, or one more.
void add_triangles(MixedProgram& program, const PatternProblem& problem, const Columns& at) {
  for (std::size_t p = 0; p < problem.pairs.size(); ++p) {
    const auto [first, last] = problem.pairs[p];
    for (const std::size_t between : problem.resources[problem.tasks[first].resource]) {
      if (between <= first || between >= last) continue;
      program.rows.push_back({{{at.turns(p), 1.0},
                               {at.turns(problem.pair_of[first][between]), -1.0},
                               {at.turns(problem.pair_of[between][last]), -1.0}},
                              0.0,
                              1.0});
    }
  }
}

/// The memory constraints, divided by their largest coefficient so that numbers stay near 1.
void add_memory(MixedProgram& program, const PatternProblem& problem, const Columns& at) {
  for (const MemoryRow& row : problem.memory) {
    std::int64_t largest = 1;
    for (const auto& [pair, stash] : row.terms) largest = std::max(largest, std::abs(stash));
    ProgramRow scaled{{}, -kUnbounded, static_cast<double>(row.room) / static_cast<double>(largest)};
    for (const auto& [pair, stash] : row.terms) {
      scaled.terms.emplace_back(at.turns(pair), static_cast<double>(stash) / static_cast<double>(largest));
    }
    program.rows.push_back(std::move(scaled));
  }
}

}  // namespace

MixedProgram pattern_program(const PatternProblem& problem, Ticks shortest, Ticks longest) {
  const Columns at{problem.tasks.size(), problem.pairs.size()};
  MixedProgram program;
  add_columns(program, problem, shortest, longest);
  add_rows(program, problem, at);
  add_triangles(program, problem, at);
  add_memory(program, problem, at);
  return program;
}

std::vector<double> program_values(const PatternProblem& problem, const Turns& turns, std::span<const Ticks> starts,
                                   Ticks period) {
  std::vector<double> values;
  for (Ticks start : starts) values.push_back(ratio(start, period));
  for (std::int64_t k : turns) values.push_back(static_cast<double>(k));
  values.push_back(ratio(problem.least, period));
  return values;
}

double period_in(const PatternProblem& problem, const std::vector<double>& values) {
  return static_cast<double>(problem.least) / values.back();
}

Turns turns_in(const PatternProblem& problem, const std::vector<double>& values) {
  Turns turns;
  for (std::size_t p = 0; p < problem.pairs.size(); ++p) {
    turns.push_back(static_cast<std::int64_t>(std::llround(values[problem.tasks.size() + p])));
  }
  return turns;
}

}  // namespace stagecraft::madpipe
