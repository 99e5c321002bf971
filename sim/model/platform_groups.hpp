#pragma once

#include "sim/base/index.hpp"
#include "sim/model/degrees.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>

namespace stagecraft {

/// A platform whose devices are groups of another's. A planner that is asked with it plans for groups, and needs not
/// know that it does.
///
/// Bytes on it are those of each member of a group, and all members move theirs at the same time, each to or from its
/// counterpart. So the link of a group is one member's, and what several members cross is divided by how many do. A
/// group is as slow as its slowest member and has the memory of its smallest; host memory is divided by members.
/// Collectives are those of the whole platform: each member is in a ring of its own, with its counterparts. Where
/// `Platform::members` is set, they are among the members themselves, as `exchange_rings` has them.
struct PlatformGroups {
  Platform platform;
  IndexVector<DeviceId, Group> groups;  ///< by device of `platform`: devices of the whole
};

/// What the devices of a platform of groups stand for (`Platform::members`).
struct MembersOfGroups {
  Platform whole;
  IndexVector<DeviceId, Group> groups;  ///< of `degrees.devices()`
  Degrees degrees;
};

/// Groups of `size` devices that follow each other; `crosses`: each exchanges with others than its neighbours, too. It
/// is the whole platform itself for groups of one; a platform of nodes where `form_of_groups` knows one; else of the
/// explicit form, where each pair of groups has a link of its own (`joint_link`), and each group a host of its own with
/// a part of the memory.
/// **Requires** size > 0, and links as `build_platform` made them where it is a platform of nodes.
/// **Throws** InputError if the size does not divide the devices, if devices of a group differ in kind or do not reach
/// each other, and if more than 1024 groups would need links by pair.
/// **Cost** as `build_platform`, and O(devices), with `crosses` times those of a group; by pair O(groups · devices ·
/// links on a way).
[[nodiscard]] PlatformGroups platform_of_groups(const Platform& whole, std::int64_t size, bool crosses = false);

/// A plan for groups as one for their members, each of which is predicted to take the memory of its group.
[[nodiscard]] Plan plan_on_whole(const PlatformGroups& groups, Plan plan);

}  // namespace stagecraft
