#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace stagecraft {

/// What asking for one size told.
struct SizeAnswer {
  bool fits = false;
  /// How many smaller sizes to ask for one by one, because a smaller one may fit although this one and even smaller
  /// ones do not. 0: a size fits if a larger one does.
  std::int64_t tries_below = 0;
  double work = 0.0;  ///< about how many nanoseconds the answer took, as `Planned::work`
  /// More than the size if it is too small: the least size that may fit.
  std::int64_t least = 0;
};

/// Which of some sizes is the largest that fits?
struct SizeQuestion {
  std::vector<std::int64_t> sizes;  ///< those to choose from, increasing
  std::function<SizeAnswer(std::int64_t size)> ask;
  /// True only for a size that fits, and much quicker than `ask`; false where it cannot tell. It holds up to some size.
  /// May be empty.
  std::function<bool(std::int64_t size)> surely_fits = {};
  /// How often to ask at most. Default: as often as it takes, until the work exceeds `run_limits::kMostSearchWork`.
  std::optional<std::int64_t> most_asked = std::nullopt;
};

struct SizeFound {
  std::optional<std::int64_t> size;  ///< it was asked for and fits; none if no size that was asked for does
  bool ended_early = false;          ///< whether more sizes would have been asked for
};

/// The largest size that fits, sought from `start` on: doubled until a size does not fit, then by bisection, with as
/// many sizes one by one as the answers want. Then the next `run_limits::kSizesAbove` sizes are asked for too, or more
/// if the answers want that, but only the next one if `surely_fits` is given. The search goes on from one that fits.
/// **Requires** at least one size.
/// **Returns** a size of which the next ones do not fit, unless the search ended early. It is the largest of all if a
/// size fits whenever a larger one does.
[[nodiscard]] SizeFound largest_size_from(const SizeQuestion& question, std::int64_t start);

/// The same if the size that follows all of `question.sizes` does not fit, which `above` tells; by bisection, with as
/// many sizes one by one as the answer wants. The size was not asked for if it surely fits.
[[nodiscard]] SizeFound largest_size_below(const SizeQuestion& question, const SizeAnswer& above);

/// The sizes to choose from: 1, 2, … below `end`, and below the limit `run_limits::kMostSizes`; if `whole` is given,
/// only those of which it is a multiple.
[[nodiscard]] std::vector<std::int64_t> sizes_below(std::int64_t end, std::optional<std::int64_t> whole);

}  // namespace stagecraft
