#include "experiments/run/size_search.hpp"

#include "experiments/run/limits.hpp"

#include <algorithm>
#include <map>

namespace stagecraft {
namespace {

using Position = std::size_t;  // in `SizeQuestion::sizes`
using Found = std::optional<Position>;

/// The last position in [begin, end) for which `holds` is true, by bisection; none if it is never true.
template <class Holds>
Found last_that_holds(Position begin, Position end, const Holds& holds) {
  const Position first = begin;
  while (begin < end) {
    const Position middle = begin + (end - begin) / 2;
    if (holds(middle)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin == first ? std::nullopt : Found(begin - 1);
}

/// The position of the first size that is not below `size`, or else of the last one.
Position first_from(const std::vector<std::int64_t>& sizes, std::int64_t size) {
  const auto found = std::ranges::lower_bound(sizes, size);
  return std::min(static_cast<Position>(found - sizes.begin()), sizes.size() - 1);
}

class SizeSearch {
 public:
  explicit SizeSearch(const SizeQuestion& question) : question_(question) {}

  Found from(Position start) {
    Position first = surely_from(start).value_or(start);
    while (is_too_small(first) && first + 1 < question_.sizes.size()) {
      first = std::max(first + 1, first_from(question_.sizes, ask(first).least));
    }
    Found found = ask(first).fits ? climb(first) : between(0, first, ask(first));
    while (found) {
      const Found above = next_that_fits(*found);
      if (!above) break;
      found = climb(*above);
    }
    return found;
  }

  Found below(const SizeAnswer& above) {
    const Position end = question_.sizes.size();
    const Found sure = question_.surely_fits ? last_sure(0, end) : std::nullopt;
    return sure ? Found(climb(*sure)) : between(0, end, above);
  }

  [[nodiscard]] SizeFound result(const Found& found) const {
    return {found ? std::optional(question_.sizes[*found]) : std::nullopt, ended_early_};
  }

 private:
  /// Once no more may be asked, nothing else fits.
  SizeAnswer ask(Position at) {
    const auto known = answers_.find(at);
    if (known != answers_.end()) return known->second;
    if (has_asked_enough()) {
      ended_early_ = true;
      return {};
    }
    const SizeAnswer answer = question_.ask(question_.sizes[at]);
    work_ += answer.work;
    answers_.emplace(at, answer);
    return answer;
  }

  [[nodiscard]] bool has_asked_enough() const {
    if (question_.most_asked) return std::ssize(answers_) >= *question_.most_asked;
    return work_ > run_limits::kMostSearchWork;
  }

  [[nodiscard]] Found last_sure(Position begin, Position end) const {
    return last_that_holds(begin, end, [&](Position at) { return question_.surely_fits(question_.sizes[at]); });
  }

  /// The last position that surely fits.
  [[nodiscard]] Found surely_from(Position start) const {
    if (!question_.surely_fits) return std::nullopt;
    if (!question_.surely_fits(question_.sizes[start])) return last_sure(0, start);
    Position last = start;
    while (doubled(last) > last && question_.surely_fits(question_.sizes[doubled(last)])) last = doubled(last);
    const Found larger = last_sure(last + 1, doubled(last));
    return larger ? larger : last;
  }

  /// The first position with twice the size, or else the last one.
  [[nodiscard]] Position doubled(Position at) const { return first_from(question_.sizes, 2 * question_.sizes[at]); }

  /// The last position from `at` on that fits, where `at` does. A size that surely fits is most often the largest, so
  /// the steps after it double in place of the sizes.
  Position climb(Position at) {
    Position step = 1;
    while (at + 1 < question_.sizes.size()) {
      const Position next = question_.surely_fits ? std::min(at + step, question_.sizes.size() - 1) : doubled(at);
      const SizeAnswer answer = ask(next);
      if (!answer.fits) return between(at + 1, next, answer).value_or(at);
      at = next;
      step *= 2;
    }
    return at;
  }

  /// The last position in [begin, end) that fits, where `answer` tells why `end` does not.
  Found between(Position begin, Position end, const SizeAnswer& answer) {
    const std::int64_t most = std::min(answer.tries_below, run_limits::kMostSizesBelow);
    for (std::int64_t tries = most; tries > 0 && end > begin; --tries) {
      if (ask(--end).fits) return end;
    }
    const Found last = last_that_holds(begin, end, [&](Position at) { return ask(at).fits || is_too_small(at); });
    return last && ask(*last).fits ? last : std::nullopt;
  }

  [[nodiscard]] bool is_too_small(Position at) { return ask(at).least > question_.sizes[at]; }

  /// The first of the next positions that fits.
  Found next_that_fits(Position at) {
    Position last = at + 1;
    for (Position next = at + 1; next < question_.sizes.size() && next <= last; ++next) {
      const SizeAnswer answer = ask(next);
      if (answer.fits) return next;
      if (next == at + 1 && !question_.surely_fits) {
        last = at + static_cast<Position>(
                        std::clamp(answer.tries_below, run_limits::kSizesAbove, run_limits::kMostSizesAbove));
      }
    }
    return std::nullopt;
  }

  const SizeQuestion& question_;
  std::map<Position, SizeAnswer> answers_;
  double work_ = 0.0;
  bool ended_early_ = false;
};

}  // namespace

SizeFound largest_size_from(const SizeQuestion& question, std::int64_t start) {
  SizeSearch search(question);
  return search.result(search.from(first_from(question.sizes, start)));
}

SizeFound largest_size_below(const SizeQuestion& question, const SizeAnswer& above) {
  SizeSearch search(question);
  return search.result(search.below(above));
}

std::vector<std::int64_t> sizes_below(std::int64_t end, std::optional<std::int64_t> whole) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size < std::min(end, run_limits::kMostSizes); ++size) {
    if (!whole || *whole % size == 0) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace stagecraft
