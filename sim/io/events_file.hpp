#pragma once

#include "sim/base/error.hpp"
#include "sim/model/events.hpp"
#include "sim/model/platform.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

inline constexpr double kMostEventFactor = 1e6;  ///< of a slowdown or of work; the least one is its inverse
inline constexpr BytesPerSecond kLeastEventBandwidth{1.0};

/// An event as a file gives it, before it is resolved for a platform.
struct NamedEvent {
  Event event;                     ///< its device or link is none
  std::vector<std::string> names;  ///< a device, a link, two devices that a link joins, or a file; none for noise
  InputPlace place;                ///< of the names
  /// Compares everything but the place.
  friend bool operator==(const NamedEvent& a, const NamedEvent& b) { return a.event == b.event && a.names == b.names; }
};

/// The events of a text of the schema `stagecraft/events/1` (docs/reference/formats/events.md), in its order, but for
/// the content of files that they name. `file_name` is used in messages only.
/// **Throws** InputError naming the place of the first defect.
[[nodiscard]] std::vector<NamedEvent> parse_events(std::string_view text, const std::string& file_name);

/// An events file with the tables that it names.
struct EventsFile {
  std::vector<NamedEvent> events;
  std::string path;
  std::string text;
  std::string sha256;  ///< of the text and of the tables
};

/// Reads it. Paths in it are relative to its folder. `shown_name` stands for `path` in messages.
/// **Throws** InputError as `parse_events`, and naming the place of the first defect of a file that it names.
[[nodiscard]] EventsFile load_events(const std::string& path, const std::string& shown_name);

/// The same events on a platform, one for each device or link. A link's name without its direction means both
/// directions; two devices mean the narrowest links of the routes between them, in both directions. A `*` in a name
/// stands for any characters.
/// **Throws** InputError naming the place of a device or link that the platform does not have, of two devices that are
/// not connected, and of a device that has less memory than the event gives it.
/// **Cost** O(devices + links), and of the routes.
[[nodiscard]] Events resolve_events(const std::vector<NamedEvent>& events, const Platform& platform);

/// A file that reads back to the same events.
[[nodiscard]] std::string write_events(const std::vector<NamedEvent>& events);

}  // namespace stagecraft
