#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/op_graph.hpp"

#include <array>
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
  // Only where the orders list transfers (`lists_transfers`): the boundary is named by the local stage.
  SendActivation,
  ReceiveActivation,
  SendGradient,
  ReceiveGradient,
};
[[nodiscard]] const char* to_string(ActionKind kind);
/// Whether it is a backward, or a half of one.
[[nodiscard]] constexpr bool is_backward(ActionKind kind) {
  return kind == ActionKind::Backward || kind == ActionKind::BackwardInput || kind == ActionKind::BackwardWeight;
}
/// Whether it is an end of a transfer.
[[nodiscard]] constexpr bool is_mark(ActionKind kind) { return kind >= ActionKind::SendActivation; }
[[nodiscard]] constexpr bool is_send(ActionKind kind) {
  return kind == ActionKind::SendActivation || kind == ActionKind::SendGradient;
}
/// Of an end of a transfer, whether it is that of a gradient.
[[nodiscard]] constexpr bool is_of_gradient(ActionKind kind) {
  return kind == ActionKind::SendGradient || kind == ActionKind::ReceiveGradient;
}

/// When the transfer of a tensor may start.
enum class Transfers : std::uint8_t {
  Eager,       ///< when the tensor has been produced
  Rendezvous,  ///< when, in addition, its receiver has come to the action that needs it
  // Sends and receives are actions of the devices' orders. A transfer waits until both devices have come to its ends.
  Explicit,  ///< and for nothing else
  Stream,    ///< and for the ends of all that both devices have sent and received before: one stream on each device
  Blocking,  ///< as in `Stream`; besides, a device goes on only after the ends of its sends and receives
};
inline constexpr std::array kAllTransfers = {Transfers::Eager, Transfers::Rendezvous, Transfers::Explicit,
                                             Transfers::Stream, Transfers::Blocking};
[[nodiscard]] const char* to_string(Transfers transfers);
/// Whether the orders of devices contain sends and receives.
[[nodiscard]] constexpr bool lists_transfers(Transfers transfers) { return transfers >= Transfers::Explicit; }

inline constexpr Seconds kFromModel{-1.0};
inline constexpr std::uint32_t kNoMicrobatch = std::numeric_limits<std::uint32_t>::max();

/// One action of a device's order. Recomputes, swaps, all-reduces and updates are not listed: they follow from the
/// plan.
struct Action {
  ActionKind kind = ActionKind::Forward;
  /// Runs together with the action before it: as one operation, an overlapped pair; or sends and receives side by side.
  bool joined = false;
  std::int32_t priority = 0;  ///< on devices with `Discipline::Ready`: smaller first
  StageId stage;
  std::uint32_t microbatch = 0;   ///< within the iteration; counted over the run for asynchronous schedules
  Seconds duration = kFromModel;  ///< given literally, or taken from the profile; a joined pair takes the first one's
  Seconds not_before;             ///< from the start of the run
  /// For a forward: it waits for the end of this microbatch's backward on the same replica. This bounds the
  /// microbatches in flight where the order does not.
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

/// The direction of a channel's transfers: activations go forward, gradients backward.
enum class Direction : std::uint8_t { Both, Forward, Backward };

/// The transfers of a channel, which belong to one boundary or to several. They run one at a time; between stages that
/// divide their microbatches, one at a time for each pair of replicas.
struct ChannelOrder {
  std::vector<ChannelEnds> boundaries;  ///< those over which nothing flows are ignored
  Discipline discipline = Discipline::Strict;
  std::vector<ChannelAction> actions;
  /// False: on the platform's network transfers share links freely, and only their not-before times count.
  bool exclusive = true;
  Direction direction = Direction::Both;  ///< each direction of a boundary may have a channel of its own
  friend bool operator==(const ChannelOrder&, const ChannelOrder&) = default;
};

/// The orders of all devices, strict or by priority among the ready operations, and of the channels if the schedule has
/// any. They are for one iteration, or for a segment of a run (`Segment`).
struct Schedule {
  std::vector<DeviceOrder> devices;
  /// Boundaries without one have no channel on the real network. Every segment of a run lists the same ones.
  std::vector<ChannelOrder> channels;
  Transfers transfers = Transfers::Eager;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

}  // namespace stagecraft
