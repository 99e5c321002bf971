#include "sim/engine/window_fold.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

constexpr std::int64_t kRemembered = 65536;  ///< microbatches, which a checkpoint is hardly older than

}  // namespace

void WindowFold::extend_to(std::int64_t microbatch) {
  if (windows_.empty()) windows_.push_back({0, first_size_});
  while (microbatch >= windows_.back().begin + length_) {
    windows_.push_back({windows_.back().begin + length_, windows_.back().microbatch_size});
  }
}

void WindowFold::change_plan(const PlanChange& change) {
  if (length_ == 0) return;
  if (change.first < microbatches_) go_back(change.first);
  if (!changes_.empty()) {
    PlanChange& last = changes_.back().change;
    if (change.begin <= last.begin) {
      closed_ = changes_.size();
    } else {
      last.end = std::min(last.end, change.begin);
      last.middle = std::min(last.middle, last.end);
    }
  }
  changes_.push_back({change, latest_, latest_, latest_});
  const std::int64_t first = change.first;
  while (!windows_.empty() && windows_.back().begin >= first) windows_.pop_back();
  if (first > 0) extend_to(first - 1);
  windows_.push_back({first, change.microbatch_size});
}

/// The microbatches from `first` on are run again. If the run goes back further than is remembered, the window that
/// ends there keeps its end.
void WindowFold::go_back(std::int64_t first) {
  while (!windows_.empty() && windows_.back().begin >= first) windows_.pop_back();
  const std::int64_t oldest = microbatches_ - std::ssize(recent_);
  recent_.resize(static_cast<std::size_t>(std::max<std::int64_t>(first - oldest, 0)));
  microbatches_ = first;
  if (!windows_.empty() && windows_.back().begin >= oldest) {
    const auto begin = recent_.begin() + static_cast<std::ptrdiff_t>(windows_.back().begin - oldest);
    windows_.back().end = *std::max_element(begin, recent_.end());
  }
  latest_ = Seconds(0);
  for (const Window& window : windows_) latest_ = std::max(latest_, window.end);
}

void WindowFold::withdraw_changes(std::size_t count) {
  if (changes_.size() > count) changes_.resize(count);
}

void WindowFold::add(std::int64_t microbatch, Seconds end) {
  if (length_ == 0) return;
  extend_to(microbatch);
  auto window = windows_.end() - 1;
  while (window->begin > microbatch) --window;
  window->end = std::max(window->end, end);
  latest_ = std::max(latest_, end);
  for (std::size_t i = changes_.size(); i > closed_ && microbatch < changes_[i - 1].change.end; --i) {
    Change& each = changes_[i - 1];
    if (microbatch < each.change.begin) each.before = std::max(each.before, end);
    if (microbatch < each.change.middle) each.middle = std::max(each.middle, end);
    each.last = std::max(each.last, end);
  }
  for (; microbatches_ <= microbatch; ++microbatches_) recent_.emplace_back();
  const std::int64_t age = microbatches_ - microbatch;
  if (age <= std::ssize(recent_)) {
    Seconds& own = recent_[recent_.size() - static_cast<std::size_t>(age)];
    own = std::max(own, end);
  }
  while (std::ssize(recent_) > kRemembered) recent_.pop_front();
}

std::vector<WindowReport> WindowFold::report() const {
  std::vector<WindowReport> reports;
  Seconds before;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const std::int64_t begin = windows_[i].begin;
    const std::int64_t end = i + 1 < windows_.size() ? windows_[i + 1].begin : microbatches_;
    const Seconds at = std::max(before, windows_[i].end);
    WindowReport window{begin, end, windows_[i].microbatch_size, at};
    if (at > before) window.throughput = static_cast<double>(window.samples()) / (at - before).value();
    reports.push_back(window);
    before = at;
  }
  return reports;
}

std::int64_t WindowFold::samples(std::int64_t begin, std::int64_t end) const {
  if (windows_.empty()) return (end - begin) * first_size_;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const std::int64_t last = i + 1 < windows_.size() ? std::min(windows_[i + 1].begin, end) : end;
    sum += std::max<std::int64_t>(last - std::max(windows_[i].begin, begin), 0) * windows_[i].microbatch_size;
  }
  return sum;
}

std::vector<std::pair<ChangeTime, ChangeTime>> WindowFold::change_times() const {
  std::vector<std::pair<ChangeTime, ChangeTime>> times;
  for (const Change& each : changes_) {
    const std::int64_t end = std::min(each.change.end, microbatches_);
    const std::int64_t middle = std::min(each.change.middle, end);
    times.push_back({{std::max<std::int64_t>(middle - each.change.begin, 0), each.middle - each.before},
                     {std::max<std::int64_t>(end - middle, 0), each.last - each.middle}});
  }
  return times;
}

}  // namespace stagecraft
