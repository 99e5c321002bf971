#include "experiments/view/tracks.hpp"

#include <algorithm>
#include <map>

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

}  // namespace

Tracks tracks_of(const Timeline& timeline, const Platform& platform) {
  struct Row {
    Seconds free_at;
    std::uint32_t found = 0;  ///< how many rows were found before it
  };
  std::map<Track, std::vector<Row>> streams;
  std::uint32_t rows = 0;
  Tracks result;
  result.of_entry.assign(timeline.size(), Tracks::kNone);
  for (const std::uint32_t i : in_order_of_starts(timeline)) {
    const TimelineEntry& entry = timeline[i];
    if (!is_shown(entry.kind)) continue;
    std::vector<Row>& stream = streams[stream_of(entry, platform)];
    const Seconds start = entry.start + date_noise(entry.start);
    const auto free = std::ranges::find_if(stream, [&](const Row& each) { return each.free_at <= start; });
    Row& row = free == stream.end() ? stream.emplace_back(Row{{}, rows++}) : *free;
    row.free_at = entry.end;
    result.of_entry[i] = row.found;
  }
  std::vector<std::uint32_t> numbers(rows);  // of the tracks, by when their rows were found
  for (const auto& [stream, its_rows] : streams) {
    Track track = stream;
    for (const Row& row : its_rows) {
      numbers[row.found] = static_cast<std::uint32_t>(result.tracks.size());
      result.tracks.push_back(track);
      ++track.row;
    }
  }
  for (std::uint32_t& track : result.of_entry) {
    if (track != Tracks::kNone) track = numbers[track];
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
