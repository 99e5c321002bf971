#include "planners/madpipe/pattern_search.hpp"

#include "planners/madpipe/pattern_construction.hpp"
#include "planners/madpipe/pattern_problem.hpp"
#include "planners/madpipe/pattern_program.hpp"
#include "sim/base/error.hpp"

#include <set>
#include <utility>

namespace stagecraft::madpipe {
namespace {

constexpr double kTolerance = 1e-6;  ///< of the solver, as a share of the period

bool is_contiguous(std::span<const ChainStage> stages) {
  std::set<std::uint32_t> devices;
  for (const ChainStage& stage : stages) devices.insert(stage.device);
  return devices.size() == stages.size();
}

PatternAnswer star_answer(const Chain& chain, std::span<const ChainStage> stages, Ticks longest) {
  const std::vector<ChainResource> resources = resources_of(chain, stages);
  const std::vector<Bytes> buffers = stage_buffers(chain, stages);
  const auto fits = [&](std::span<const std::int64_t> in_flight) {
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const Bytes held = chain.memory(stages[s].begin, stages[s].end, in_flight[2 * s], buffers[s]);
      if (held > chain.capacity()) return false;
    }
    return true;
  };
  const std::optional<Ticks> period = least_star_period(resources, fits);
  if (!period || *period > longest) return {};
  const std::optional<StarTimes> times = star_times(resources, *period);
  STAGECRAFT_CHECK(times.has_value(), "the least period holds the largest load");
  return {star_pattern(*times, *period)};
}

/// The order in the solver's answer, if it satisfies memory and precedences exactly.
std::optional<FoundOrder> order_in(const PatternProblem& problem, const ProgramAnswer& answer) {
  if (answer.values.empty()) return std::nullopt;
  Turns turns = turns_in(problem, answer.values);
  if (!fits_memory(problem, turns)) return std::nullopt;
  const std::optional<Ticks> period = least_period(problem, turns);
  if (!period) return std::nullopt;
  return FoundOrder{std::move(turns), *period};
}

/// Whether the solver has proved that nothing is better than the order it found, apart from rounding.
bool is_exact(const PatternProblem& problem, const ProgramAnswer& answer, const std::optional<FoundOrder>& order) {
  if (answer.outcome == ProgramOutcome::Infeasible) return true;
  if (answer.outcome != ProgramOutcome::Solved || !order) return false;
  return static_cast<double>(order->period) <= period_in(problem, answer.values) * (1 + kTolerance);
}

TickPattern pattern_of(const PatternProblem& problem, const FoundOrder& order) {
  const auto starts = earliest_starts(problem, order.turns, order.period);
  STAGECRAFT_CHECK(starts.has_value(), "an order has its least period");
  return pattern_of(problem, *starts, order.period);
}

/// Solves the integer program, starting with the best order so far, and keeps its order if that is no worse.
void improve(const PatternProblem& problem, const PatternSearch& search, std::optional<FoundOrder>& best,
             PatternAnswer& answer) {
  const Ticks longest = best ? best->period : search.longest;
  std::vector<double> start;
  if (best) start = program_values(problem, best->turns, *earliest_starts(problem, best->turns, longest), longest);
  const ProgramAnswer found = solve(pattern_program(problem, problem.least, longest), start, search.node_limit);
  answer.nodes += found.nodes;
  std::optional<FoundOrder> order = order_in(problem, found);
  answer.is_proven = is_exact(problem, found, order);
  if (order && order->period <= longest) best = std::move(order);
}

}  // namespace

PatternAnswer least_pattern(const Chain& chain, std::span<const ChainStage> stages, const PatternSearch& search) {
  if (search.shortcuts && is_contiguous(stages)) return star_answer(chain, stages, search.longest);
  const PatternProblem problem = pattern_problem(chain, stages);
  if (problem.least > search.longest) return {};
  PatternAnswer answer;
  std::optional<FoundOrder> best;
  if (search.shortcuts) best = construct_order(problem, search.longest);
  if (!best || best->period > problem.least) {
    answer.is_proven = false;
    if (search.node_limit > 0) improve(problem, search, best, answer);
  }
  if (best) answer.pattern = pattern_of(problem, *best);
  return answer;
}

}  // namespace stagecraft::madpipe
