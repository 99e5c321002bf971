#include "planners/madpipe/pattern_problem.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <variant>

namespace stagecraft::madpipe {

// Once the turns are fixed, what is left is a system of differences: every condition says that one start is at least
// another one plus a length plus some turns times the period (`Arc`). Each task comes after the one before it in the
// chain, with no turns. A pair (i, j) with k turns gives two arcs: j starts d_i + k periods after i, or later, and i
// starts d_j - (k + 1) periods after j, or later. Such a system can be satisfied iff the graph of its arcs has no cycle
// of positive length, and the longest paths from task 0 are the earliest starts.
//
// **Invariant** of `least_period`: no shorter period than the present one is possible. A cycle of positive length whose
// turns are negative says by how much the period has to grow, and the next one is no longer than that. Such a cycle is
// never violated again, and there are finitely many, so the search ends, with the least period. A cycle whose turns are
// not negative does not become shorter with a longer period, so no period is possible.

namespace {

/// Numbers the resources (devices, and links between two devices) from 0 in order of first use.
class ResourceNames {
 public:
  std::size_t device(std::uint32_t device) { return number({device, device}); }
  std::size_t link(std::uint32_t a, std::uint32_t b) { return number(std::minmax(a, b)); }

 private:
  std::size_t number(std::pair<std::uint32_t, std::uint32_t> key) {
    return numbers_.emplace(key, numbers_.size()).first->second;
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> numbers_;
};

void add_tasks(PatternProblem& problem, const Chain& chain, std::span<const ChainStage> stages) {
  ResourceNames names;
  const auto add_stage = [&](std::size_t s, bool backward) {
    const ChainStage& stage = stages[s];
    const Ticks duration = backward ? chain.backward(stage.begin, stage.end) : chain.forward(stage.begin, stage.end);
    problem.tasks.push_back({names.device(stage.device), duration, false, static_cast<std::uint32_t>(s), backward});
  };
  const auto add_cut = [&](std::size_t s, bool backward) {  // after stage s
    if (s + 1 == stages.size() || stages[s].device == stages[s + 1].device) return;
    const std::size_t link = names.link(stages[s].device, stages[s + 1].device);
    problem.tasks.push_back({link, chain.transfer(stages[s].end), true, static_cast<std::uint32_t>(s), backward});
  };
  for (std::size_t s = 0; s < stages.size(); ++s) {
    add_stage(s, false);
    add_cut(s, false);
  }
  for (std::size_t s = stages.size(); s-- > 0;) {
    add_cut(s, true);
    add_stage(s, true);
  }
}

void add_pairs(PatternProblem& problem) {
  const std::size_t count = problem.tasks.size();
  problem.pair_of.assign(count, std::vector<std::size_t>(count, 0));
  for (std::size_t i = 0; i < count; ++i) {
    if (problem.tasks[i].resource >= problem.resources.size()) problem.resources.resize(problem.tasks[i].resource + 1);
    problem.resources[problem.tasks[i].resource].push_back(i);
    for (std::size_t j = i + 1; j < count; ++j) {
      if (problem.tasks[i].resource != problem.tasks[j].resource) continue;
      problem.pair_of[i][j] = problem.pairs.size();
      problem.pairs.push_back({i, j});
    }
  }
}

/// The memory of a device that its stages leave for stashes.
Bytes room_on(const Chain& chain, std::span<const ChainStage> stages, std::span<const Bytes> buffers,
              std::uint32_t device) {
  Bytes fixed;
  Bytes workspace;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const ChainStage& stage = stages[s];
    if (stage.device != device) continue;
    fixed += chain.copies(stage.begin, stage.end) + buffers[s];
    workspace = std::max(workspace, chain.workspace(stage.begin, stage.end));
  }
  return chain.capacity() - fixed - workspace;
}

/// Only a forward's start adds a stash on its device, so the memory is largest at one of these. The 1 in the number of
/// microbatches in flight at stage s is taken off the room if s <= i; if s > i it cancels out against the -1.
void add_memory(PatternProblem& problem, const Chain& chain, std::span<const ChainStage> stages) {
  const std::vector<Bytes> buffers = stage_buffers(chain, stages);
  std::vector<std::size_t> forward(stages.size());
  std::vector<std::size_t> backward(stages.size());
  for (std::size_t o = 0; o < problem.tasks.size(); ++o) {
    if (!problem.tasks[o].is_cut) (problem.tasks[o].backward ? backward : forward)[problem.tasks[o].index] = o;
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    MemoryRow row{{}, room_on(chain, stages, buffers, stages[i].device).value()};
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const std::int64_t stash = chain.stash(stages[s].begin, stages[s].end).value();
      if (stages[s].device != stages[i].device || stash == 0) continue;
      row.terms.emplace_back(problem.pair_of[forward[i]][backward[s]], stash);
      if (s < i) row.terms.emplace_back(problem.pair_of[forward[s]][forward[i]], stash);
      if (s > i) row.terms.emplace_back(problem.pair_of[forward[i]][forward[s]], -stash);
      if (s <= i) row.room -= stash;
    }
    problem.memory.push_back(std::move(row));
  }
}

/// A precedence between two tasks: start(to) >= start(from) + length + turns × period.
struct Arc {
  std::size_t from = 0;
  std::size_t to = 0;
  Ticks length = 0;
  std::int64_t turns = 0;
};

std::vector<Arc> arcs_of(const PatternProblem& problem, const Turns& turns) {
  std::vector<Arc> arcs;
  for (std::size_t o = 0; o + 1 < problem.tasks.size(); ++o) arcs.push_back({o, o + 1, problem.tasks[o].duration, 0});
  for (std::size_t p = 0; p < problem.pairs.size(); ++p) {
    const auto [i, j] = problem.pairs[p];
    arcs.push_back({i, j, problem.tasks[i].duration, turns[p]});
    arcs.push_back({j, i, problem.tasks[j].duration, -turns[p] - 1});
  }
  return arcs;
}

struct Circle {
  Ticks length = 0;
  std::int64_t turns = 0;
};

/// The cycle that is reached by going back along `arc_into` from `task`.
Circle circle_through(const std::vector<Arc>& arcs, const std::vector<std::size_t>& arc_into, std::size_t task) {
  for (std::size_t step = 0; step < arc_into.size(); ++step) task = arcs[arc_into[task]].from;  // now on the cycle
  Circle circle;
  std::size_t at = task;
  do {
    const Arc& arc = arcs[arc_into[at]];
    circle.length += arc.length;
    circle.turns += arc.turns;
    at = arc.from;
  } while (at != task);
  return circle;
}

/// The longest paths from task 0 with that period, or a cycle of positive length, which means that the period is too
/// short (algorithm of Bellman and Ford).
std::variant<std::vector<Ticks>, Circle> longest_paths(const std::vector<Arc>& arcs, std::size_t tasks, Ticks period) {
  constexpr Ticks kNever = std::numeric_limits<Ticks>::min();
  std::vector<Ticks> start(tasks, kNever);
  std::vector<std::size_t> arc_into(tasks, 0);
  start[0] = 0;
  for (std::size_t round = 0; round <= tasks; ++round) {
    std::optional<std::size_t> raised;
    for (std::size_t a = 0; a < arcs.size(); ++a) {
      const Arc& arc = arcs[a];
      if (start[arc.from] == kNever) continue;
      const Ticks reached = start[arc.from] + arc.length + arc.turns * period;
      if (reached <= start[arc.to]) continue;
      start[arc.to] = reached;
      arc_into[arc.to] = a;
      raised = arc.to;
    }
    if (!raised) return start;
    if (round == tasks) return circle_through(arcs, arc_into, *raised);
  }
  return start;
}

}  // namespace

PatternProblem pattern_problem(const Chain& chain, std::span<const ChainStage> stages) {
  PatternProblem problem;
  add_tasks(problem, chain, stages);
  add_pairs(problem);
  add_memory(problem, chain, stages);
  for (const std::vector<std::size_t>& resource : problem.resources) {
    Ticks load = 0;
    for (std::size_t task : resource) load += problem.tasks[task].duration;
    problem.least = std::max(problem.least, load);
  }
  return problem;
}

bool fits_memory(const PatternProblem& problem, const Turns& turns) {
  return std::ranges::all_of(problem.memory, [&](const MemoryRow& row) {
    std::int64_t held = 0;
    for (const auto& [pair, stash] : row.terms) held += stash * turns[pair];
    return held <= row.room;
  });
}

std::optional<std::vector<Ticks>> earliest_starts(const PatternProblem& problem, const Turns& turns, Ticks period) {
  auto paths = longest_paths(arcs_of(problem, turns), problem.tasks.size(), period);
  if (auto* starts = std::get_if<std::vector<Ticks>>(&paths)) return std::move(*starts);
  return std::nullopt;
}

std::optional<Ticks> least_period(const PatternProblem& problem, const Turns& turns) {
  const std::vector<Arc> arcs = arcs_of(problem, turns);
  Ticks period = problem.least;
  for (;;) {
    const auto paths = longest_paths(arcs, problem.tasks.size(), period);
    const auto* circle = std::get_if<Circle>(&paths);
    if (circle == nullptr) return period;
    if (circle->turns >= 0) return std::nullopt;
    const Ticks next = (circle->length - circle->turns - 1) / -circle->turns;
    STAGECRAFT_CHECK(next > period, "a cycle of positive length needs a longer period");
    period = next;
  }
}

std::optional<Turns> turns_of(const PatternProblem& problem, std::span<const Ticks> starts, Ticks period) {
  Turns turns;
  for (const auto& [i, j] : problem.pairs) {
    const Ticks apart = starts[j] - starts[i];
    const std::int64_t k = (apart - problem.tasks[i].duration) / period;
    if (apart < problem.tasks[i].duration || apart + problem.tasks[j].duration > (k + 1) * period) return std::nullopt;
    turns.push_back(k);
  }
  return turns;
}

TickPattern pattern_of(const PatternProblem& problem, std::span<const Ticks> starts, Ticks period) {
  TickPattern pattern{period, {}};
  for (std::size_t o = 0; o < problem.tasks.size(); ++o) {
    const PatternTask& task = problem.tasks[o];
    pattern.operations.push_back({task.is_cut, task.index, task.backward, starts[o] % period, starts[o] / period});
  }
  list_in_order(pattern.operations, [&](const TickOperation& operation) {
    const auto same = [&](const PatternTask& task) {
      return task.is_cut == operation.is_cut && task.index == operation.index && task.backward == operation.backward;
    };
    return std::ranges::find_if(problem.tasks, same)->duration;
  });
  return pattern;
}

}  // namespace stagecraft::madpipe
