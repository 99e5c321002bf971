#include "experiments/run/batch_curve.hpp"

#include "experiments/run/limits.hpp"
#include "sim/base/activity.hpp"
#include "sim/model/origin.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

using Sizes = std::vector<std::int64_t>;
using Say = std::function<void(const std::string&)>;

constexpr std::size_t kMostSpread = 10;  ///< sizes from the smallest to the largest
constexpr std::size_t kMostBetween = 4;  ///< sizes that are then tried beside the fastest
constexpr std::int64_t kLeastGap = 10;   ///< between these, as a part of the fastest

CurvePoint point_of(const Planning& planning, Report report) {
  return {.size = planning.graph.microbatch_size,
          .planned = *planning.planned(),
          .report = std::move(report),
          .is_extrapolated = planning.graph.origin == Origin::Extrapolated};
}

/// Those of `allowed` that are each at least so many times the one before.
Sizes spread(const Sizes& allowed, std::int64_t factor) {
  Sizes sizes;
  for (const std::int64_t size : allowed) {
    if (sizes.empty() || size >= factor * sizes.back()) sizes.push_back(size);
  }
  return sizes;
}

/// Of the allowed sizes between two others the one nearest to their middle.
std::optional<std::int64_t> middle(const Sizes& allowed, std::int64_t low, std::int64_t high) {
  const auto begin = std::ranges::upper_bound(allowed, low);
  const auto end = std::ranges::lower_bound(allowed, high);
  if (begin >= end) return std::nullopt;
  return *std::min_element(begin, end, [&](std::int64_t a, std::int64_t b) {
    return std::abs(2 * a - low - high) < std::abs(2 * b - low - high);
  });
}

class CurveSearch {
 public:
  using OnPoint = std::function<void(const BatchCurve&)>;

  CurveSearch(const PlannerInfo& planner, const Inputs& inputs, LargestSizeChoices choices, OnPoint on_point)
      : planner_(planner), inputs_(inputs), choices_(std::move(choices)), on_point_(std::move(on_point)) {}

  BatchCurve find(const Say& say) {
    choices_.on_fit = [this](const Planning& planning, const std::optional<Report>& replayed) {
      Report report = replayed ? *replayed : size_run(planning, inputs_.platform, choices_, EngineChoice::Evaluate);
      fitting_.insert_or_assign(planning.graph.microbatch_size, point_of(planning, std::move(report)));
    };
    curve_.largest = find_largest_size(planner_, inputs_, choices_, say);
    if (!curve_.largest.size) return std::move(curve_);
    for (const SizeTry& tried : curve_.largest.tried) asked_.push_back(tried.size);
    allowed_ = sizes_to_choose(choices_.planning, *curve_.largest.size + 1);
    show(*curve_.largest.size);
    SizeTries tries(planner_, inputs_, choices_.planning, size_judge(inputs_, choices_));
    add_spread(tries);
    add_between(tries);
    show(fastest()->first);
    return std::move(curve_);
  }

 private:
  using Fitting = std::map<std::int64_t, CurvePoint>;

  void add_spread(SizeTries& tries) {
    std::int64_t factor = 2;
    while (spread(allowed_, factor).size() > kMostSpread) factor *= 2;
    const Sizes sizes = spread(allowed_, factor);
    Activity activity("asking for smaller microbatches");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      activity.count(i, sizes.size(), "sizes");
      add(tries, sizes[i]);
    }
  }

  void add_between(SizeTries& tries) {
    const Activity activity("looking for the fastest microbatch size");
    for (std::size_t i = 0; i < kMostBetween; ++i) {
      const auto size = size_beside_fastest();
      if (!size) return;
      add(tries, *size);
    }
  }

  void add(SizeTries& tries, std::int64_t size) {
    if (std::ranges::find(asked_, size) == asked_.end()) {
      if (work_ > run_limits::kMostSearchWork) return;
      asked_.push_back(size);
      work_ += tries.ask(size).work;
    }
    show(size);
  }

  /// Adds a size that was asked for to the curve.
  void show(std::int64_t size) {
    const auto found = fitting_.find(size);
    if (found == fitting_.end()) {
      curve_.left_out.insert(std::ranges::upper_bound(curve_.left_out, size), size);
      return;
    }
    const auto place = std::ranges::lower_bound(curve_.points, size, {}, &CurvePoint::size);
    if (place != curve_.points.end() && place->size == size) return;
    curve_.points.insert(place, found->second);
    on_point_(curve_);
  }

  [[nodiscard]] Fitting::const_iterator fastest() const {
    return std::ranges::max_element(fitting_, {},
                                    [](const Fitting::value_type& each) { return each.second.report.throughput; });
  }

  /// The middle of the wider gap beside the fastest size, unless it was asked for; none if the gap is narrow.
  [[nodiscard]] std::optional<std::int64_t> size_beside_fastest() const {
    const auto best = fastest();
    const std::int64_t size = best->first;
    const std::int64_t below = best == fitting_.begin() ? size : std::prev(best)->first;
    const std::int64_t above = std::next(best) == fitting_.end() ? size : std::next(best)->first;
    const bool is_above = above - size > size - below;
    if (kLeastGap * (is_above ? above - size : size - below) <= size) return std::nullopt;
    const auto found = is_above ? middle(allowed_, size, above) : middle(allowed_, below, size);
    if (found && std::ranges::find(asked_, *found) != asked_.end()) return std::nullopt;
    return found;
  }

  const PlannerInfo& planner_;
  const Inputs& inputs_;
  LargestSizeChoices choices_;
  OnPoint on_point_;
  Fitting fitting_;
  Sizes asked_;
  Sizes allowed_;  ///< up to the largest
  double work_ = 0.0;
  BatchCurve curve_;
};

}  // namespace

const CurvePoint* BatchCurve::fastest() const {
  const auto found =
      std::ranges::max_element(points, {}, [](const CurvePoint& each) { return each.report.throughput; });
  return found == points.end() ? nullptr : &*found;
}

BatchCurve largest_point(const PlannerInfo& planner, const Inputs& inputs, const LargestSizeChoices& choices,
                         const Say& say) {
  BatchCurve curve;
  curve.largest = find_largest_size(planner, inputs, choices, say);
  if (!curve.largest.size) return curve;
  const EngineChoice engine = choices.replays ? EngineChoice::Replay : EngineChoice::Evaluate;
  curve.points.push_back(
      point_of(curve.largest.planning, size_run(curve.largest.planning, inputs.platform, choices, engine)));
  return curve;
}

BatchCurve find_batch_curve(const PlannerInfo& planner, const Inputs& inputs, const LargestSizeChoices& choices,
                            const Say& say, const std::function<void(const BatchCurve&)>& on_point) {
  return CurveSearch(planner, inputs, choices, on_point).find(say);
}

}  // namespace stagecraft
