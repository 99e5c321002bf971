#include "experiments/view/tracks.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

namespace stagecraft {
namespace {

bool is_shown(OpKind kind) { return is_transfer(kind) || (is_compute(kind) && kind != OpKind::Post); }

/// The first track of the entry's stream.
Track stream_of(const TimelineEntry& entry, const Platform& platform) {
  if (is_compute(entry.kind)) return {entry.from, OpKind::Forward, Leg::Whole, 0};
  const auto [from, to] = ends_of(platform, entry.from, entry.to, entry.leg);
  const bool is_fetched = !platform.is_device(from) && platform.is_device(to);
  return {is_fetched ? to : from, entry.kind, entry.leg, 0};
}

std::vector<std::size_t> in_order_of_starts(const Timeline& timeline) {
  std::vector<std::size_t> order(timeline.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::pair(timeline[i].start, timeline[i].id); });
  return order;
}

}  // namespace

Tracks tracks_of(const Timeline& timeline, const Platform& platform) {
  std::map<Track, std::vector<Seconds>> free_at;  // of the rows of each stream
  std::vector<Track> of_entry(timeline.size());
  for (const std::size_t i : in_order_of_starts(timeline)) {
    const TimelineEntry& entry = timeline[i];
    if (!is_shown(entry.kind)) continue;
    of_entry[i] = stream_of(entry, platform);
    std::vector<Seconds>& rows = free_at[of_entry[i]];
    const Seconds start = entry.start + date_noise(entry.start);
    const auto row = std::ranges::find_if(rows, [&](Seconds end) { return end <= start; });
    of_entry[i].row = static_cast<std::uint32_t>(row - rows.begin());
    if (row == rows.end()) rows.push_back(entry.end);
    rows[of_entry[i].row] = entry.end;
  }
  Tracks result;
  std::map<Track, std::uint32_t> numbers;
  for (const auto& [stream, rows] : free_at) {
    for (std::uint32_t row = 0; row < rows.size(); ++row) {
      Track track = stream;
      track.row = row;
      numbers[track] = static_cast<std::uint32_t>(result.tracks.size());
      result.tracks.push_back(track);
    }
  }
  for (std::size_t i = 0; i < timeline.size(); ++i) {
    result.of_entry.push_back(is_shown(timeline[i].kind) ? numbers.at(of_entry[i]) : Tracks::kNone);
  }
  return result;
}

std::string name_of(const Track& track) {
  std::string name = is_compute(track.kind) ? "compute" : to_string(track.kind);
  if (track.leg == Leg::ToHost) name += " to host";
  if (track.leg == Leg::BetweenHosts) name += " between hosts";
  if (track.leg == Leg::FromHost) name += " from host";
  return track.row == 0 ? name : name + " " + std::to_string(track.row + 1);
}

}  // namespace stagecraft
