#pragma once

#include "sim/base/activity.hpp"

#include <chrono>
#include <string>

namespace stagecraft {

/// Where and when progress is shown.
struct ProgressPlan {
  int descriptor = 2;
  bool rewrites = false;            ///< one line that is rewritten, as on a terminal; otherwise a line each time
  std::chrono::milliseconds first;  ///< from the start to the first line
  std::chrono::milliseconds every;  ///< from one line to the next
};

/// Standard error: on a terminal every second once two have passed, otherwise every ten seconds.
[[nodiscard]] ProgressPlan usual_progress();

/// While it lives, shows what the program does (`Activity`): `stagecraft: after 20 s still planning with spp`. A line
/// that is rewritten is removed at the end.
///
/// A timer interrupts the program with SIGURG, so that nothing that takes long has to think of it; system calls go on
/// after it, except those that wait for several things at once. Forked children have no timer. The line is left out
/// where it could not be written at once, or where nobody reads.
/// **Requires** that there is no other one, and a process without further threads.
class ProgressWatch {
 public:
  explicit ProgressWatch(const ProgressPlan& plan);
  ~ProgressWatch();
  ProgressWatch(const ProgressWatch&) = delete;
  ProgressWatch& operator=(const ProgressWatch&) = delete;
  ProgressWatch(ProgressWatch&&) = delete;
  ProgressWatch& operator=(ProgressWatch&&) = delete;
};

/// While it lives no progress is shown, so that a message can be written; a line that is rewritten is removed first.
class ProgressPause {
 public:
  ProgressPause();
  ~ProgressPause();
  ProgressPause(const ProgressPause&) = delete;
  ProgressPause& operator=(const ProgressPause&) = delete;
  ProgressPause(ProgressPause&&) = delete;
  ProgressPause& operator=(ProgressPause&&) = delete;
};

/// Whether the program has taken so long that progress is shown, to somebody who watches it.
[[nodiscard]] bool shows_progress();

/// Removes a line that is shown and rewritten. May be called from a signal handler.
void wipe_progress();

/// The line for an activity and those around it, outermost first, `spent` after the start of the program: the words
/// that fit in so many columns.
[[nodiscard]] std::string progress_text(const Activity* innermost, std::chrono::seconds spent,
                                        std::size_t columns = 1000);

}  // namespace stagecraft
