#include "planners/pipedream/fitting.hpp"

#include "planners/pipedream/chosen_states.hpp"
#include "planners/pipedream/memory_test.hpp"
#include "planners/pipedream/recurrence.hpp"
#include "planners/shared/costs/cost_model.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft::pipedream {
namespace {

using Shape = std::vector<Level>;

double devices_of(const Shape& shape) {
  double devices = 1.0;
  for (const Level& level : shape) devices *= level.count;
  return devices;
}

/// Every shape with at most as many members of each level, the one with the most devices first; of equal ones, the one
/// with the most members of the innermost level.
std::vector<Shape> shapes_within(const Shape& whole) {
  std::vector<Shape> shapes{whole};
  for (std::size_t level = 0; level < whole.size(); ++level) {
    std::vector<Shape> more;
    for (const Shape& shape : shapes) {
      for (std::uint32_t count = whole[level].count; count > 0; --count) {
        more.push_back(shape);
        more.back()[level].count = count;
      }
    }
    shapes = std::move(more);
  }
  std::ranges::stable_sort(shapes, std::greater(), devices_of);
  return shapes;
}

/// The searches of one problem. The memory tests do not depend on the shape.
class LedgerSearch {
 public:
  LedgerSearch(Problem& problem, const DownSets& states) : problem_(&problem), states_(&states) {}

  /// The best pipeline of the problem's shape that fits, if its period is below that of all before.
  void run(Fitting& fitting) {
    for (const Consumers consumers : {Consumers::One, Consumers::Every}) {
      const bool is_new = !tests_.contains(consumers);
      if (is_new) fitting.work += kLedgerStepTime * ledger_test_work(problem_->request, states_->count);
      fitting.work += kTransitionTime * transitions(states_->count, problem_->settings);
      problem_->settings.memory = &test(consumers);
      const Answer answer = optimize(*states_, problem_->settings);
      if (answer.period >= least_) return;
      PlanResult result = judged(problem_->request, planned(*problem_, *states_, answer));
      if (!std::holds_alternative<Planned>(result)) continue;
      fitting.plan = std::get<Planned>(std::move(result));
      least_ = answer.period;
      return;
    }
  }

 private:
  const MemoryTest& test(Consumers consumers) {
    const auto found = tests_.find(consumers);
    if (found != tests_.end()) return found->second;
    MemoryTest made = ledger_memory_test(problem_->request, *states_, problem_->choices, consumers);
    return tests_.emplace(consumers, std::move(made)).first->second;
  }

  Problem* problem_;
  const DownSets* states_;
  std::map<Consumers, MemoryTest> tests_;
  double least_ = std::numeric_limits<double>::infinity();
};

/// Searches on fewer devices.
void run_on_fewer(Problem& problem, const DownSets& states, LedgerSearch& search, Fitting& fitting) {
  const double max_work = problem.request.options.number("max_work");
  const std::vector<Shape> shapes = shapes_within(problem.levels);
  double work = transitions(states.count, problem.settings);
  for (const Shape& shape : std::span(shapes).subspan(1)) {
    problem.settings.levels = shape;
    const double more = transitions(states.count, problem.settings);
    fitting.is_complete = work + more <= max_work;
    if (!fitting.is_complete) break;
    work += more;
    fitting.work_on_fewer += more;
    search.run(fitting);
  }
  problem.settings.levels = problem.levels;
}

}  // namespace

Fitting plan_that_fits(Problem& problem, DownSets& states) {
  MemoryTest counted;
  counted.whole_pipeline = true;
  problem.settings.memory = &counted;
  restrict_states(problem.request, problem.graph, problem.settings, states);
  Fitting fitting;
  LedgerSearch search(problem, states);
  search.run(fitting);
  if (problem.settings.use_fewer) run_on_fewer(problem, states, search, fitting);
  problem.settings.memory = nullptr;
  if (fitting.plan && !fitting.is_complete) {
    fitting.plan->notes.emplace_back(
        "a faster pipeline on fewer devices may fit; max_work does not allow all of them to be tried");
  }
  return fitting;
}

}  // namespace stagecraft::pipedream
