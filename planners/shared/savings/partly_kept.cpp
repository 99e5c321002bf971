#include "planners/shared/savings/partly_kept.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// What a microbatch that keeps a recomputed segment needs more, and the time that it saves.
struct KeptSegment {
  std::size_t begin = 0;
  std::size_t end = 0;
  Bytes more;
  Seconds forward;
  [[nodiscard]] double worth() const { return forward.value() / static_cast<double>(more.value()); }
};

/// Those that save most time for a byte first; of equal ones the first comes first.
std::vector<KeptSegment> segments_by_worth(const SavingStage& stage, const StageSaving& saving) {
  std::vector<KeptSegment> segments;
  std::vector<SavedPart> parts = parts_of(stage, saving.actions);
  std::ranges::reverse(parts);
  for (const SavedPart& part : parts) {
    const Bytes more = part.unit.stash - part.unit.checkpoint;
    if (part.action != UnitAction::Recompute || more <= Bytes(0)) continue;
    segments.push_back({part.begin, part.end, more, part.unit.forward});
  }
  std::ranges::stable_sort(segments, std::greater<>(), &KeptSegment::worth);
  return segments;
}

}  // namespace

StageSaving with_some_kept(const SavingStage& stage, StageSaving saving) {
  constexpr std::int64_t kLongestWindow = 4096;  // of a plan's action
  const std::int64_t in_flight = stage.budget.in_flight;
  const auto is = [&](UnitAction action) { return std::ranges::count(saving.actions, action) > 0; };
  if (is(UnitAction::Swap) || !is(UnitAction::Recompute) || in_flight > kLongestWindow) return saving;
  saving.kept.assign(stage.units.size(), 0);
  for (const KeptSegment& segment : segments_by_worth(stage, saving)) {
    const std::int64_t fitting = (stage.budget.capacity - saving.memory).value() / segment.more.value();
    const std::int64_t kept = std::min(in_flight - 1, fitting);
    for (std::size_t i = segment.begin; i < segment.end; ++i) saving.kept[i] = kept;
    saving.memory += segment.more * kept;
    saving.time -= segment.forward * (static_cast<double>(kept) / static_cast<double>(in_flight));
  }
  return saving;
}

}  // namespace stagecraft
