#pragma once

namespace stagecraft::bench {

/// Of this process and of its children that have ended.
double cpu_seconds();
/// Of this process alone, so far: finer than the other, whose parts are rounded.
double own_cpu_seconds();
/// The most memory that this process held.
double largest_mebibytes();
/// The most memory that a child which has ended held.
double largest_child_mebibytes();

}  // namespace stagecraft::bench
