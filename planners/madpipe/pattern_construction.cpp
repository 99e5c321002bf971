#include "planners/madpipe/pattern_construction.hpp"

#include <vector>

namespace stagecraft::madpipe {
namespace {

/// a mod period, in [0, period) for negative a too.
Ticks within(Ticks a, Ticks period) { return ((a % period) + period) % period; }

/// The part of one resource's period that is already in use.
class Timetable {
 public:
  explicit Timetable(Ticks period) : period_(period) {}

  /// The earliest start, not before `from`, of a free interval of `duration`; none if there is none.
  [[nodiscard]] std::optional<Ticks> earliest(Ticks from, Ticks duration) const {
    Ticks at = from;
    for (std::size_t moves = 0; moves <= taken_.size(); ++moves) {
      const Task* other = collision(at, duration);
      if (other == nullptr) return at;
      const Ticks after = within(at - other->start, period_);
      at += other->duration - after + (after < other->duration ? 0 : period_);
      if (at - from > 2 * period_) return std::nullopt;
    }
    return std::nullopt;
  }
  /// The latest start of a free interval of `duration` that ends by `until`; none if there is none.
  [[nodiscard]] std::optional<Ticks> latest(Ticks until, Ticks duration) const {
    Ticks end = until;
    for (std::size_t moves = 0; moves <= taken_.size(); ++moves) {
      const Task* other = collision(end - duration, duration);
      if (other == nullptr) return end - duration;
      end -= within(end - other->start, period_);
      if (until - end > 2 * period_) return std::nullopt;
    }
    return std::nullopt;
  }
  void take(Ticks start, Ticks duration) { taken_.push_back({start, duration}); }

 private:
  struct Task {
    Ticks start;
    Ticks duration;
  };
  [[nodiscard]] const Task* collision(Ticks start, Ticks duration) const {
    for (const Task& other : taken_) {
      const Ticks after = within(start - other.start, period_);
      if (after < other.duration || after + duration > period_) return &other;
    }
    return nullptr;
  }

  Ticks period_;
  std::vector<Task> taken_;
};

/// The starts of all tasks for one period; none if a resource has no gap that is long enough. Tasks are placed from the
/// end of the chain: each forward as late as possible before the forwards already placed, and each backward as early as
/// possible after the backwards already placed.
std::optional<std::vector<Ticks>> place(const PatternProblem& problem, Ticks period) {
  std::vector<Timetable> tables(problem.resources.size(), Timetable(period));
  const std::size_t half = problem.tasks.size() / 2;  // forward tasks mirror backward tasks
  std::vector<Ticks> starts(problem.tasks.size());
  Ticks first = 0;  // start of the first task placed so far
  Ticks last = 0;   // end of the last task placed so far
  for (std::size_t step = 0; step < half; ++step) {
    const std::size_t forward = half - 1 - step;
    const std::size_t backward = half + step;
    Timetable& table = tables[problem.tasks[forward].resource];
    const std::optional<Ticks> before = table.latest(first, problem.tasks[forward].duration);
    if (!before) return std::nullopt;
    table.take(*before, problem.tasks[forward].duration);
    const std::optional<Ticks> after = table.earliest(last, problem.tasks[backward].duration);
    if (!after) return std::nullopt;
    table.take(*after, problem.tasks[backward].duration);
    first = starts[forward] = *before;
    starts[backward] = *after;
    last = *after + problem.tasks[backward].duration;
  }
  for (Ticks& start : starts) start -= first;
  return starts;
}

}  // namespace

std::optional<FoundOrder> construct_order(const PatternProblem& problem, Ticks longest) {
  constexpr Ticks kSteps = 60;
  std::optional<FoundOrder> best;
  for (Ticks step = 0; step <= kSteps && problem.least <= longest; ++step) {
    const Ticks period = problem.least + (longest - problem.least) / kSteps * step;
    if (best && best->period <= period) break;
    const auto starts = place(problem, period);
    if (!starts) continue;
    const std::optional<Turns> turns = turns_of(problem, *starts, period);
    if (!turns || !fits_memory(problem, *turns)) continue;
    const std::optional<Ticks> least = least_period(problem, *turns);
    if (least && (!best || *least < best->period)) best = FoundOrder{*turns, *least};
  }
  return best;
}

}  // namespace stagecraft::madpipe
