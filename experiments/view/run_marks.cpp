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
    marks.push_back({entry.end, "end of " + what});
  }
  return marks;
}

}  // namespace

std::vector<RunMark> run_marks(const Simulation& simulation, const Platform& platform,
                               const std::optional<TimeRange>& window) {
  std::vector<RunMark> marks = marks_of_operations(simulation);
  for (const Replan& replan : simulation.report.course.replans) marks.push_back({replan.at, "another plan"});
  for (const EventWords& event : events_words(simulation, platform)) marks.push_back({event.at, event.words});
  std::erase_if(marks,
                [&](const RunMark& mark) { return window && (mark.at < window->begin || mark.at > window->end); });
  std::ranges::stable_sort(marks, {}, &RunMark::at);
  return marks;
}

}  // namespace stagecraft
