#include "experiments/view/stall.hpp"

#include <algorithm>
#include <cstdint>

namespace stagecraft {

std::vector<const ReplanQuestion*> changes_of_plan(const Report& report) {
  std::vector<const ReplanQuestion*> changes;
  for (const ReplanQuestion& question : report.course.questions) {
    if (question.first) changes.push_back(&question);
  }
  return changes;
}

std::optional<Seconds> stall_of(const Report& report, std::size_t replan) {
  const std::vector<const ReplanQuestion*> changes = changes_of_plan(report);
  if (!report.period || replan >= changes.size()) return std::nullopt;
  const Replan& measured = report.course.replans[replan];
  const ReplanQuestion& question = *changes[replan];
  if (!measured.gap || !question.keeping || !question.changing) return std::nullopt;
  const std::int64_t before = std::min(measured.late, std::int64_t{question.stall_middle} - question.stall_begin);
  const Seconds expected = *question.keeping * static_cast<double>(before) +
                           *question.changing * static_cast<double>(measured.late - before);
  return std::max(Seconds(0), *measured.gap - expected);
}

std::optional<Seconds> stall_of_all(const Report& report) {
  Seconds sum;
  for (std::size_t i = 0; i < report.course.replans.size(); ++i) {
    const std::optional<Seconds> stall = stall_of(report, i);
    if (!stall) return std::nullopt;
    sum += *stall;
  }
  return sum;
}

}  // namespace stagecraft
