#pragma once

#include "experiments/view/ascii_timeline.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// A kind of operation in a picture.
struct Sign {
  OpKind kind;
  char letter;
  const char* meaning;
};

/// Letters in the order of the legend.
constexpr auto kSigns = std::to_array<Sign>({
    {OpKind::Forward, 'F', "forward"},
    {OpKind::Backward, 'B', "backward"},
    {OpKind::BackwardInput, 'I', "input half of a backward"},
    {OpKind::BackwardWeight, 'W', "weight half of a backward"},
    {OpKind::ForwardBackward, 'P', "forward and backward as a pair"},
    {OpKind::Recompute, 'r', "recompute"},
    {OpKind::Exchange, 'E', "exchange of a group"},
    {OpKind::Update, 'U', "update"},
    {OpKind::Activation, 'A', "activation"},
    {OpKind::Gradient, 'G', "gradient"},
    {OpKind::AllReduce, 'R', "all-reduce"},
    {OpKind::ReduceScatter, 'S', "reduce-scatter"},
    {OpKind::AllGather, 'T', "all-gather"},
    {OpKind::ExchangeFlow, 'e', "flow of an exchange"},
    {OpKind::SwapOut, 'O', "swap out"},
    {OpKind::SwapIn, 'N', "swap in"},
    {OpKind::Migration, 'M', "migration"},
});

/// None for kinds that are not drawn.
[[nodiscard]] const Sign* sign_of(OpKind kind);

/// Operations of one row of a picture, sorted by start.
using RowEntries = std::vector<const TimelineEntry*>;

/// The part of a run that is drawn. It points into the timeline.
struct Picture {
  std::map<PlaceId, RowEntries> computations;  ///< those that take time; of every device that computes in the run
  std::map<std::pair<PlaceId, PlaceId>, RowEntries> transfers;  ///< by the places at their ends
  Seconds begin;
  Seconds end;
  Seconds run_end;
  Seconds axis_begin;                              ///< the time that the axis shows at `begin`
  std::map<PlaceId, std::vector<StageId>> stages;  ///< for each device that computes, its stages in ascending order
  bool names_stages = false;                       ///< whether some device has several stages, so labels name them
  [[nodiscard]] Seconds length() const { return end - begin; }
  /// The largest number of computations on one device.
  [[nodiscard]] std::size_t most_computations() const;
};

/// Without a window, the last iteration, or the whole run if no barriers mark iterations.
/// **Cost** O(entries · log entries).
[[nodiscard]] Picture take_picture(const Timeline& timeline, const Platform& platform,
                                   const std::optional<TimeRange>& window);

/// The mapping from time to columns.
struct Scale {
  Seconds begin;
  Seconds column;  ///< time that one column stands for
  std::size_t columns = 0;
  /// The column at whose left end the time is, rounded.
  [[nodiscard]] std::size_t at(Seconds time) const;
};

/// If all computations start and end at multiples of a unit (the shortest computation, or half, a third or a quarter of
/// it), a unit gets a whole number of columns, so that every computation is drawn with its exact length; the picture
/// may then be a little narrower than `columns`. Otherwise the picture uses all columns.
/// **Requires** a computation, and `columns` > 0.
[[nodiscard]] Scale choose_scale(const Picture& picture, std::size_t columns);

/// For each column the letter of a kind of operation that runs in it, or `.` for a time without any. What shares
/// columns takes turns, so that over many columns each has as many as its time fills: a row that is 31 % idle has 31 %
/// dots. Where several run at once, the time counts for the one that has started first.
/// **Cost** O(entries + columns).
[[nodiscard]] std::string folded_cells(const RowEntries& entries, const Scale& scale);

}  // namespace stagecraft
