#pragma once

namespace stagecraft::bench {

/// CPU seconds of this process and of its children that have ended.
double cpu_seconds();
/// CPU seconds of this process alone so far. They are finer than the other figure, whose parts are rounded.
double own_cpu_seconds();
/// The most memory that this process held.
double largest_mebibytes();
/// The most memory that a child which has ended held.
double largest_child_mebibytes();

}  // namespace stagecraft::bench
