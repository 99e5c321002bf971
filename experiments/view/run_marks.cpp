#include "experiments/view/run_marks.hpp"

#include "experiments/view/events_view.hpp"

#include <algorithm>
#include <cstddef>

namespace stagecraft {
namespace {

std::vector<RunMark> marks_of_operations(const Simulation& simulation) {
  std::vector<RunMark> marks;
  std::size_t iterations = 0;
  for (const TimelineEntry& entry : simulation.record.timeline) {
    if (entry.kind != OpKind::Barrier) continue;
    const std::string what = simulation.report.period ? "microbatch " + std::to_string(entry.microbatch)
                                                      : "iteration " + std::to_string(iterations++);
    marks.push_back({entry.end, "end of " + what, true});
  }
  return marks;
}

/// Where another model or another size begins the plan goes on, carried over, and the event is the mark.
void add_changes_of_plan(const Report& report, std::vector<RunMark>& marks) {
  const std::vector<const ReplanQuestion*> questions = changes_of_plan(report);
  for (std::size_t i = 0; i < std::min(questions.size(), report.course.replans.size()); ++i) {
    if (questions[i]->cause == ReplanQuestion::Cause::Model) continue;
    marks.push_back({report.course.replans[i].at, "another plan"});
  }
}

}  // namespace

std::vector<RunMark> run_marks(const Simulation& simulation, const Platform& platform,
                               const std::optional<TimeRange>& window) {
  std::vector<RunMark> marks = marks_of_operations(simulation);
  add_changes_of_plan(simulation.report, marks);
  for (const EventWords& event : events_words(simulation, platform)) marks.push_back({event.at, event.words});
  std::erase_if(marks,
                [&](const RunMark& mark) { return window && (mark.at < window->begin || mark.at > window->end); });
  std::ranges::stable_sort(marks, {}, &RunMark::at);
  return marks;
}

}  // namespace stagecraft
