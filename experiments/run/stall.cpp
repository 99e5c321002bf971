#include "experiments/run/stall.hpp"

#include "sim/model/timeline.hpp"

#include <algorithm>
#include <cstdint>

namespace stagecraft {
namespace {

/// Of an asynchronous run.
std::optional<Seconds> stall_of_microbatches(const Replan& measured, const ReplanQuestion& question) {
  if (!measured.after) return std::nullopt;
  const auto lateness = [](const Late& late, Seconds each) {
    return late.time - each * static_cast<double>(late.microbatches);
  };
  Seconds stall = lateness(*measured.after, *question.changing);
  if (question.keeping) stall += std::max(Seconds(0), lateness(*measured.before, *question.keeping));
  return stall;
}

/// Of a flushed run. None if it ends before.
std::optional<Seconds> stall_of_iteration(const Report& report, const ReplanQuestion& question) {
  if (report.iterations.empty() || report.course.windows.empty()) return std::nullopt;
  const std::int64_t each = report.course.windows.back().end / std::ssize(report.iterations);  // microbatches
  const auto first = static_cast<std::size_t>(*question.first / each);
  if (first >= report.iterations.size()) return std::nullopt;
  return report.iterations[first] - *question.changing;
}

}  // namespace

std::optional<Seconds> stall_of(const Report& report, std::size_t replan) {
  const std::vector<const ReplanQuestion*> changes = changes_of_plan(report);
  if (replan >= changes.size() || !changes[replan]->changing) return std::nullopt;
  const Replan& measured = report.course.replans[replan];
  const std::optional<Seconds> stall =
      report.period ? stall_of_microbatches(measured, *changes[replan]) : stall_of_iteration(report, *changes[replan]);
  if (!stall) return std::nullopt;
  const auto dates = static_cast<double>(measured.after ? measured.after->microbatches : 1);
  return *stall > date_noise(measured.at) * dates ? stall : Seconds(0);
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
