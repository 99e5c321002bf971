#pragma once

#include "sim/base/error.hpp"
#include "sim/model/events.hpp"
#include "sim/model/platform.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// An event as a file gives it, before it is resolved for a platform.
struct NamedEvent {
  Event event;                     ///< its device or link is none
  std::vector<std::string> names;  ///< a device, a link, or two devices that a link joins; none for noise
  InputPlace place;                ///< of the names
  /// Compares everything but the place.
  friend bool operator==(const NamedEvent& a, const NamedEvent& b) { return a.event == b.event && a.names == b.names; }
};

/// The events of a file of the schema `stagecraft/events/1` (docs/reference/formats/events.md), in file order.
/// **Throws** InputError naming the place of the first defect. Changes of the model, of memory and of the work of a
/// microbatch are part of the format but not supported yet; they are refused too.
[[nodiscard]] std::vector<NamedEvent> read_events_file(const std::string& path);

/// The same of a text; `file_name` is used in messages only.
[[nodiscard]] std::vector<NamedEvent> parse_events(std::string_view text, const std::string& file_name);

/// The same events on a platform, one for each link. A link's name without its direction means both directions; two
/// devices mean the narrowest links of the routes between them, in both directions.
/// **Throws** InputError naming the place of a device or link that the platform does not have, and of two devices that
/// are not connected.
/// **Cost** O(devices + links), and of the routes.
[[nodiscard]] Events resolve_events(const std::vector<NamedEvent>& events, const Platform& platform);

/// A file that reads back to the same events.
[[nodiscard]] std::string write_events(const std::vector<NamedEvent>& events);

}  // namespace stagecraft
