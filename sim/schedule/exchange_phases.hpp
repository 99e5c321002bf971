#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/degrees.hpp"
#include "sim/model/exchange.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/all_reduce.hpp"

namespace stagecraft {

/// The members of a group that exchange something with each other: sets that do so at the same time, each in the order
/// of its ring.
/// **Requires** a group of `degrees.devices()`.
[[nodiscard]] MemberRings exchanging(const Group& group, const Degrees& degrees, Exchange::Among among);

/// How an exchange of `bytes` runs in sets of members at the same time: as an all-reduce, as the half of one that
/// leaves each its part of the sum or that begins with the parts, as one step of a ring, or in pairs.
///
/// *All-to-all*: a step for each other member, in which every member sends one a part and gets a part from one. Of
/// members on several nodes, equally many on each, a step stays inside all nodes or leaves all of them, so that none
/// waits for a slower link that is not its own. The busiest link of a step decides how long it takes.
/// **Source** R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH",
/// IJHPCA 2005, section 3.3 (pairwise exchange).
/// **Requires** sets of equally many members, at least two, whose neighbours are connected; of an all-to-all, any two.
[[nodiscard]] AllReduce exchange_phases(const Platform& platform, const MemberRings& sets, Exchange::Kind kind,
                                        Bytes bytes);

/// The part of the time of an exchange for which its members wait. Products hide the rest of the all-gathers and
/// reduce-scatters of a tensor group, as the platform says (`CollectiveSpec::overlap`).
[[nodiscard]] double waited_part(const Platform& platform, const Exchange& exchange);

/// The time of it if nothing else uses its links, with latencies. Where the platform has a table of bandwidths of
/// all-reduces, others take as long as an all-reduce takes for the bytes that a member sends.
[[nodiscard]] Seconds exchange_time(const Platform& platform, const MemberRings& sets, Exchange::Kind kind,
                                    Bytes bytes);

}  // namespace stagecraft
