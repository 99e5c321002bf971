#pragma once

#include "sim/base/index.hpp"
#include "sim/model/computed_choice.hpp"
#include "sim/model/covered.hpp"
#include "sim/model/degrees.hpp"
#include "sim/model/figures.hpp"
#include "sim/model/pattern.hpp"
#include "sim/model/schedule_choice.hpp"
#include "sim/model/training.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft {

/// How the replicas of a stage share the work.
enum class Replication {
  RoundRobin,  ///< whole microbatches alternate in turn: see `Replicas`
  Split,  ///< each microbatch is divided into whole samples: of b, replica j of r runs ⌊j b / r⌋ to ⌊(j + 1) b / r⌋
};

/// The devices that run one replica of a stage together: as many as the plan's `Plan::degrees` say.
struct Group {
  std::vector<DeviceId> devices;

  Group() = default;
  Group(DeviceId device) : devices{device} {}  // NOLINT(google-explicit-constructor): a device is a group of one
  /// The device that stands for the group where one is meant. **Requires** at least one device.
  [[nodiscard]] DeviceId lead() const { return devices.front(); }
  [[nodiscard]] bool is_alone() const { return devices.size() == 1; }
  friend bool operator==(const Group&, const Group&) = default;
};
/// A replica on each of the devices, in their order.
[[nodiscard]] std::vector<Group> groups_of_one(const std::vector<DeviceId>& devices);

/// Layers of a stage whose stash is not kept but made again before their backward.
struct Recompute {
  std::vector<LayerId> layers;  ///< consecutive layers of the stage: one segment
  Covered covered = {};         ///< other microbatches keep the stash
  /// Whether the checkpoint leaves for the host after the forward, and comes back before the forward is run again.
  bool swaps_checkpoint = false;
  friend bool operator==(const Recompute&, const Recompute&) = default;
};

/// Layers of a stage whose stash leaves for the host after the forward and comes back for their backward, in one
/// transfer each way.
struct Swap {
  std::vector<LayerId> layers;
  /// The copy back may start when the stage's previous backward begins; else it starts when its own backward is next.
  bool prefetch = true;
  Covered covered = {};  ///< other microbatches keep the stash
  friend bool operator==(const Swap&, const Swap&) = default;
};

/// An action on the stash of some layers, in place of keeping it on the device. A layer is in at most one action of its
/// stage. Actions of a stage that do not cover all microbatches agree in `Covered::of`.
using MemoryAction = std::variant<Recompute, Swap>;

[[nodiscard]] inline const Covered& covered_by(const MemoryAction& action) {
  return std::visit([](const auto& one) -> const Covered& { return one.covered; }, action);
}

/// Whether the action copies anything to the host.
[[nodiscard]] bool swaps(const MemoryAction& action);

/// Layers executed together on one device, or on several replicas.
struct Stage {
  std::vector<LayerId> layers;  ///< in canonical order
  std::vector<Group> replicas;  ///< in the order of turns
  /// The all-reduce ring: positions in `replicas`, each once. Empty: the order of turns.
  std::vector<std::uint32_t> ring;
  Replication replication = Replication::RoundRobin;
  /// By replica, as proportions: how many microbatches it runs, or how much of each. Empty: all the same.
  std::vector<std::int64_t> shares;
  std::vector<MemoryAction> memory;  ///< layers without one keep their stash
  /// A forward waits until all microbatches before the last so many before it have made their copies to the host;
  /// absent: it waits for none. So swapped stashes do not pile up where forwards follow each other faster than copies.
  std::optional<std::int64_t> swap_backlog;
  std::optional<std::int64_t> weight_versions;  ///< per replica; absent: what the schedule implies
  bool swap_weight_versions = false;            ///< versions older than the two newest are kept in host memory
  std::optional<std::int64_t> in_flight;        ///< per replica; a cap
  /// Which copy of the model the stage belongs to. A schedule with several pipelines over the same devices (Chimera,
  /// DualPipe) lists the stages of each; every pipeline covers the model once.
  std::uint32_t pipeline = 0;
  friend bool operator==(const Stage&, const Stage&) = default;
};

/// The devices of a stage, group by group in the order of turns.
[[nodiscard]] std::vector<DeviceId> devices_of(const Stage& stage);
/// Whether the device runs a replica of the stage, alone or in a group.
[[nodiscard]] bool runs_on(const Stage& stage, DeviceId device);
/// Whether a replica of the one and a replica of the other have the same devices.
[[nodiscard]] bool share_a_device(const Stage& a, const Stage& b);

/// The actions of one kind, in the stage's order.
template <class Action>
[[nodiscard]] std::vector<Action> actions_of(const Stage& stage) {
  std::vector<Action> found;
  for (const MemoryAction& action : stage.memory) {
    if (const auto* of_kind = std::get_if<Action>(&action)) found.push_back(*of_kind);
  }
  return found;
}

/// A training plan: which layers run on which devices, with how many microbatches and which schedule. Layers and
/// devices are indices of the model and the platform that the plan was made for.
struct Plan {
  std::string planner;
  std::string model;
  std::string platform;
  std::string model_hash;  ///< SHA-256 of the inputs' content; empty when not known
  std::string platform_hash;
  ComputedChoice computed = {};      ///< how the model's figures are computed, where its file does not say
  std::int64_t microbatch_size = 1;  ///< samples of a microbatch, of each device with samples of its own
  std::int64_t microbatches = 1;     ///< over all replicas; per iteration, or the least length of an asynchronous run
  Degrees degrees = {};              ///< into how many devices each replica is divided
  /// Asynchronous: the rounds of a stage's turns after which it reduces its gradients and updates its weights.
  std::int64_t rounds_per_update = 1;
  ScheduleChoice schedule;
  Training training;
  std::vector<Stage> stages;
  /// By pipeline, as proportions: how many of the microbatches it runs. Empty: all the same.
  std::vector<std::int64_t> pipeline_shares;
  std::optional<Pattern> pattern;
  Figures predicted;
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// The samples of a microbatch of the plan: `Plan::microbatch_size` for each device of a replica that has its own.
[[nodiscard]] inline std::int64_t samples_of_microbatch(const Plan& plan) {
  return plan.microbatch_size * plan.degrees.samples();
}

/// Whether every memory action of the stage covers all microbatches.
[[nodiscard]] bool covers_all(const Stage& stage);
/// The number of a replica's microbatches after which what is done for them repeats; 1 if `covers_all`.
[[nodiscard]] std::int64_t window_of(const Stage& stage);

/// How many layers of the plan have an action of one kind in some pipeline.
template <class Action>
[[nodiscard]] std::int64_t layers_with(const Plan& plan) {
  std::set<LayerId> layers;
  for (const Stage& stage : plan.stages) {
    for (const Action& action : actions_of<Action>(stage)) layers.insert(action.layers.begin(), action.layers.end());
  }
  return std::ssize(layers);
}

}  // namespace stagecraft
