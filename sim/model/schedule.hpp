#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/op_graph.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace stagecraft {

enum class ActionKind : std::uint8_t {
  Forward,
  Backward,
  BackwardInput,
  BackwardWeight,
  // Only in schedules with `explicit_transfers`: the boundary is named by the local stage.
  SendActivation,
  ReceiveActivation,
  SendGradient,
  ReceiveGradient,
};
[[nodiscard]] const char* to_string(ActionKind kind);

inline constexpr Seconds kFromModel{-1.0};
inline constexpr std::uint32_t kNoMicrobatch = std::numeric_limits<std::uint32_t>::max();

/// One step of a device's order. Recompute, swap, all-reduce and update are not listed: they follow from the plan.
struct Action {
  ActionKind kind = ActionKind::Forward;
  bool joined = false;        ///< runs together with the action before it as one operation: an overlapped pair
  std::int32_t priority = 0;  ///< on devices with `Discipline::Ready`: smaller first
  StageId stage;
  std::uint32_t microbatch = 0;   ///< within the iteration; counted over the run for asynchronous schedules
  Seconds duration = kFromModel;  ///< given literally, else from the profile; of a joined pair the first one's counts
  Seconds not_before;             ///< from the start of the run
  /// Of a forward: it waits for the end of this microbatch's backward on the same replica, which bounds what is in
  /// flight where the order does not.
  std::uint32_t after = kNoMicrobatch;
  friend bool operator==(const Action&, const Action&) = default;
};

/// The computations of one device.
struct DeviceOrder {
  DeviceId device;
  Discipline discipline = Discipline::Strict;
  std::vector<Action> actions;
  friend bool operator==(const DeviceOrder&, const DeviceOrder&) = default;
};

/// One transfer in the order of a channel.
struct ChannelAction {
  bool gradient = false;  ///< else the activation
  std::int32_t priority = 0;
  std::uint32_t microbatch = 0;
  Seconds not_before;
  std::uint32_t boundary = 0;  ///< which of the channel's boundaries it crosses
  friend bool operator==(const ChannelAction&, const ChannelAction&) = default;
};

/// The boundary between two stages.
struct ChannelEnds {
  StageId from;  ///< the stage that sends activations
  StageId to;
  friend bool operator==(const ChannelEnds&, const ChannelEnds&) = default;
};

/// The way that a channel's transfers go: activations forward, gradients backward.
enum class Direction : std::uint8_t { Both, Forward, Backward };

/// The transfers over a boundary, or over several that share a channel, one at a time; between stages that divide their
/// microbatches, one at a time for each pair of replicas.
struct ChannelOrder {
  std::vector<ChannelEnds> boundaries;  ///< those between which nothing flows are passed over
  Discipline discipline = Discipline::Strict;
  std::vector<ChannelAction> actions;
  /// False: on the real network transfers meet as its links let them, and only their not-before times count.
  bool exclusive = true;
  Direction direction = Direction::Both;  ///< of a boundary each way may have a channel of its own
  friend bool operator==(const ChannelOrder&, const ChannelOrder&) = default;
};

/// Each device's operations in order, strict or by priority among the ready ones, and where a schedule says so each
/// channel's: of one iteration, or of a piece of a run (`Segment`).
struct Schedule {
  std::vector<DeviceOrder> devices;
  /// Boundaries without one have no channel on the real network. Every segment of a run lists the same ones.
  std::vector<ChannelOrder> channels;
  bool explicit_transfers = false;  ///< sends and receives stand in the device orders; a transfer waits for both
  bool rendezvous = false;          ///< a transfer waits until its receiver has come to the action that needs it
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

}  // namespace stagecraft
