#pragma once

namespace stagecraft {

// Some libraries keep state for the life of a process: SimGrid its engine, CBC its random numbers. Code that calls such
// a library reports it here. Work that must not depend on earlier work is then started in a new process.

void leave_lasting_state();
/// Whether this process, or one that it was forked from, has such state.
[[nodiscard]] bool has_lasting_state();

}  // namespace stagecraft
