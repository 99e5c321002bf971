#pragma once

namespace stagecraft {

// Some libraries keep state for the life of a process: SimGrid its engine, CBC its random numbers. Whoever calls one
// says so. Work that must not depend on what was done before it then starts in a new process.

void leave_lasting_state();
/// Whether this process, or the one it was forked from, has left some.
[[nodiscard]] bool has_lasting_state();

}  // namespace stagecraft
