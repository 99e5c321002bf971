#pragma once

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
#include <xbt/log.h>

#include <functional>

// Calls that later versions of SimGrid rename. This code is written for 3.32; brackets give the name in a later
// version.
namespace stagecraft::simgrid_compat {

/// How near two dates must be to count as one, in seconds [3.34: precision/timing].
inline constexpr const char* kTimingPrecision = "surf/precision:1e-12";

/// Sets the function that is called when an activity ends, whether or not it failed [3.34: a callback per class,
/// `Comm::on_this_completion_cb`].
inline void on_completion(const std::function<void(const simgrid::s4u::Activity&)>& callback) {
  simgrid::s4u::Activity::on_completion_cb(callback);
}

/// The zone's own interface [4.0: the root zone exists from the start, and zones are added to it].
inline simgrid::s4u::NetZone* interface_of(simgrid::kernel::routing::NetZoneImpl& zone) { return zone.get_iface(); }

template <class Callback>
void set_timer(double date, Callback callback) {
  simgrid::kernel::timer::Timer::set(date, std::move(callback));
}

}  // namespace stagecraft::simgrid_compat
