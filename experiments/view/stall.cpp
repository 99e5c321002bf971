#include "experiments/view/stall.hpp"

#include "sim/model/timeline.hpp"

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
  if (!measured.after || !question.changing) return std::nullopt;
  const auto lateness = [](const Late& late, Seconds each) {
    return late.time - each * static_cast<double>(late.microbatches);
  };
  Seconds stall = lateness(*measured.after, *question.changing);
  if (question.keeping) stall += std::max(Seconds(0), lateness(*measured.before, *question.keeping));
  return stall > date_noise(measured.at) * static_cast<double>(measured.after->microbatches) ? stall : Seconds(0);
}

std::optional<Seconds> stall_of_all(const Report& report) {
  Seconds sum;
  bool is_known = report.course.replans.empty();
  for (std::size_t i = 0; i < report.course.replans.size(); ++i) {
    const std::optional<Seconds> stall = stall_of(report, i);
    sum += stall.value_or(Seconds(0));
    is_known |= stall.has_value();
  }
  return is_known ? std::optional(sum) : std::nullopt;
}

}  // namespace stagecraft
