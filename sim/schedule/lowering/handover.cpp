#include "sim/schedule/lowering/handover.hpp"

#include "sim/base/error.hpp"
#include "sim/model/carried_plan.hpp"
#include "sim/schedule/lowering/givers.hpp"
#include "sim/schedule/tied_stages.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

using Kept = std::map<DeviceId, StaticMemory>;

/// The last operation takes the memory.
void take_memory(WindowWriter& writer, const Platform& platform, const Kept& memory) {
  for (const auto& [device, kept] : memory) stagecraft::take(writer, platform.place(device), kept);
}

/// What the devices that are left hold of the plan before and go on with.
Kept kept_by_rest(const PlanRun& before, const Resumption& resumption) {
  if (resumption.from_checkpoint) return {};
  Kept kept = before.kept_memory();
  for (DeviceId device : resumption.lost) kept.erase(device);
  return kept;
}

/// The steps of `hand_over`, as operations. `Setup` operations take no time; they only change memory and join
/// dependencies.
class Handover {
 public:
  Handover(PlanRun& before, const PlanRun* drains, PlanRun& after, Seconds restart, const Resumption* resumption)
      : before_(before),
        drains_(drains),
        after_(after),
        restart_(restart),
        resumption_(resumption),
        writer_(after.state().writer),
        platform_(after.shape().platform()),
        layers_before_(layers_before(before.shape().graph(), after.shape().graph())) {}

  void run() {
    const Kept kept_before = resumption_ == nullptr ? before_.kept_memory() : kept_by_rest(before_, *resumption_);
    const Kept kept_after = after_.kept_memory();
    for (const auto& [device, kept] : kept_after) make_room(device, kept, find(kept_before, device));
    find_givers();
    for (ReplicaId id : after_.shape().replicas().all()) fetch_layers(id);
    for (const auto& [device, kept] : kept_before) free_rest(device, kept, find(kept_after, device));
    if (restart_ > Seconds(0)) {
      let_all_start();
    } else {
      for (std::size_t i = 0; i < after_.state().lanes.size(); ++i) let_start(i);
    }
  }

  /// Marks the instant of the switch in the run's spans: `Course::replans`. It waits for nothing, so it starts as soon
  /// as the engine has pulled this window.
  void append_mark(std::int64_t first_microbatch) {
    Op op;
    op.kind = OpKind::Setup;
    op.microbatch = static_cast<std::uint32_t>(first_microbatch);
    op.stage = after_.state().run_stage(StageId(0), 0);
    writer_.append(op);
  }

 private:
  /// What a device no longer needs, and the operation that frees it.
  struct Freed {
    OpId op;
    Bytes bytes;
  };

  static StaticMemory find(const Kept& kept, DeviceId device) {
    const auto found = kept.find(device);
    return found == kept.end() ? StaticMemory{} : found->second;
  }

  OpId append_setup(DeviceId device) {
    Op op;
    op.kind = OpKind::Setup;
    op.from = op.to = platform_.place(device);
    return writer_.append(op);
  }

  /// The last operation waits until the device has its layers of the plan before and is done with it, unless that has
  /// been given up.
  void depend_on_last(DeviceId device) {
    if (resumption_ != nullptr) return;
    const bool is_used = !before_.shape().replicas().on(device).empty();
    if (is_used || drains_ != nullptr) writer_.depend_on((is_used ? before_ : *drains_).last_on(device));
  }

  /// Takes the memory that the device will hold in addition, once it is done with the plan before.
  void make_room(DeviceId device, const StaticMemory& kept, const StaticMemory& before) {
    room_[device] = append_setup(device);
    depend_on_last(device);
    stagecraft::take(writer_, platform_.place(device), excess(kept, before));
  }

  /// The layer whose weights a layer of the next plan goes on with; none if it begins with new ones.
  [[nodiscard]] LayerId continued(LayerId layer) const {
    const LayerId before = layers_before_[layer];
    if (before.is_none() || (resumption_ != nullptr && resumption_->from_checkpoint)) return LayerId::none();
    const bool is_same =
        before_.shape().graph().layers[before].parameters == after_.shape().graph().layers[layer].parameters;
    return is_same ? before : LayerId::none();
  }

  /// Whether the device held the layer of the model before under the plan before.
  [[nodiscard]] bool held(DeviceId device, LayerId layer) const {
    if (resumption_ != nullptr && std::ranges::count(resumption_->lost, device) > 0) return false;
    const Replicas& replicas = before_.shape().replicas();
    return std::ranges::any_of(replicas.on(device), [&](ReplicaId id) {
      return std::ranges::count(before_.shape().plan().stages[replicas[id].stage.value()].layers, layer) > 0;
    });
  }

  /// The devices that held the layer, in the order of the stages.
  [[nodiscard]] std::vector<DeviceId> holders_of(LayerId layer) const {
    const Replicas& replicas = before_.shape().replicas();
    std::vector<DeviceId> holders;
    for (ReplicaId id : replicas.all()) {
      const DeviceId device = replicas[id].device;
      if (std::ranges::count(holders, device) == 0 && held(device, layer)) holders.push_back(device);
    }
    STAGECRAFT_CHECK(!holders.empty(), "a sound plan holds every layer");
    return holders;
  }

  /// The layers that are new on the replica's device but not new altogether.
  [[nodiscard]] std::vector<LayerId> lacking(ReplicaId id) const {
    const Replica& replica = after_.shape().replicas()[id];
    std::vector<LayerId> layers = after_.shape().plan().stages[replica.stage.value()].layers;
    std::erase_if(layers, [&](LayerId layer) {
      const LayerId before = continued(layer);
      return before.is_none() || held(replica.device, before);
    });
    return layers;
  }

  /// Finds for each replica, and for each group of devices that hold layers which it lacks, the one that gives them.
  void find_givers() {
    std::map<std::vector<DeviceId>, std::vector<ReplicaId>> receivers;
    for (ReplicaId id : after_.shape().replicas().all()) {
      for (LayerId layer : lacking(id)) {
        std::vector<ReplicaId>& all = receivers[holders_of(continued(layer))];
        if (all.empty() || all.back() != id) all.push_back(id);
      }
    }
    for (const auto& [holders, replicas] : receivers) {
      std::vector<DeviceId> devices;
      for (ReplicaId id : replicas) devices.push_back(after_.shape().replicas()[id].device);
      const std::vector<DeviceId> found = givers(platform_, holders, devices);
      for (std::size_t i = 0; i < replicas.size(); ++i) givers_[{replicas[i], holders}] = found[i];
    }
  }

  /// Appends the copies of the layers that are new on the replica's device: one from each device that gives some away.
  void fetch_layers(ReplicaId id) {
    const Replica& replica = after_.shape().replicas()[id];
    std::map<DeviceId, Bytes> from;
    std::set<std::size_t> fetched;  // groups of tied parameters
    const auto is_there = [&](std::size_t group) {
      const bool is_held = std::ranges::any_of(after_.shape().graph().tied[group].layers, [&](LayerId other) {
        const LayerId before = continued(other);
        return !before.is_none() && held(replica.device, before);
      });
      return is_held || !fetched.insert(group).second;
    };
    for (LayerId layer : lacking(id)) {
      const DeviceId giver = givers_.at({id, holders_of(continued(layer))});
      from[giver] += parameters_without(after_.shape().graph(), layer, is_there);
    }
    for (const auto& [holder, parameters] : from) {
      if (parameters > Bytes(0)) append_copy(replica, holder, parameters);
    }
  }

  void append_copy(const Replica& replica, DeviceId holder, Bytes parameters) {
    Op op;
    op.kind = OpKind::Migration;
    op.stage = after_.state().run_stage(replica.stage, 0);
    op.from = platform_.place(holder);
    op.to = platform_.place(replica.device);
    op.bytes = parameters * (1 + after_.shape().plan().training.optimizer_copies);
    const OpId copy = writer_.append(op);
    depend_on_last(holder);
    writer_.depend_on(room_.at(replica.device));
    arriving_[replica.device].push_back(copy);
    leaving_[holder].push_back(copy);
  }

  /// Whether the device may lack memory if it starts the next plan before its layers have left.
  [[nodiscard]] bool is_short(DeviceId device) const {
    const Kept kept = after_.kept_memory();
    Bytes needed = kept.at(device).total();
    Bytes workspace;
    for (ReplicaId id : after_.shape().replicas().on(device)) {
      const TurnPrograms& programs = after_.shape()[id].work.programs;
      const std::int64_t in_flight = after_.program().in_flight[after_.shape().replicas()[id].stage.value()];
      needed += programs.stashes(in_flight);
      workspace = std::max(workspace, programs.workspace());
    }
    const auto leaves = freed_.find(device);
    return leaves != freed_.end() && needed + workspace + leaves->second.bytes > platform_.capacity(device);
  }

  /// The next plan's computations on the device wait for its memory and for its new layers.
  void let_start(std::size_t index) {
    const DeviceId device = after_.state().lanes.device(index);
    const OpId start = append_setup(device);
    writer_.depend_on(room_.at(device));
    writer_.depend_on(arriving_[device]);
    if (is_short(device)) writer_.depend_on(freed_.at(device).op);
    after_.state().lanes.hold(index, start);
  }

  /// Training starts again on all devices at once, some time after all of them have their memory and their layers.
  void let_all_start() {
    Op op;
    op.kind = OpKind::Delay;
    op.seconds = restart_;
    const OpId start = writer_.append(op);
    for (const auto& [device, room] : room_) writer_.depend_on(room);
    for (const auto& [device, copies] : arriving_) writer_.depend_on(copies);
    for (std::size_t i = 0; i < after_.state().lanes.size(); ++i) after_.state().lanes.hold(i, start);
  }

  /// Frees the memory that the device no longer needs, once it is done with the plan before and its layers have left.
  void free_rest(DeviceId device, const StaticMemory& kept, const StaticMemory& after) {
    Freed& freed = freed_[device];
    freed.op = append_setup(device);
    depend_on_last(device);
    writer_.depend_on(leaving_[device]);
    const StaticMemory less = excess(kept, after);
    stagecraft::free(writer_, platform_.place(device), less);
    freed.bytes = less.total();
  }

  PlanRun& before_;
  const PlanRun* drains_;
  PlanRun& after_;
  Seconds restart_;
  const Resumption* resumption_;  ///< null: the plan before drains
  WindowWriter& writer_;
  const Platform& platform_;
  IndexVector<LayerId, LayerId> layers_before_;                             ///< by layer of the next plan
  std::map<std::pair<ReplicaId, std::vector<DeviceId>>, DeviceId> givers_;  ///< by receiver and holders
  std::map<DeviceId, OpId> room_;                   ///< the operation that takes the device's additional memory
  std::map<DeviceId, std::vector<OpId>> arriving_;  ///< copies to the device
  std::map<DeviceId, std::vector<OpId>> leaving_;   ///< copies from the device
  std::map<DeviceId, Freed> freed_;
};

}  // namespace

void begin_with(PlanRun& first) {
  Op op;
  op.kind = OpKind::Setup;
  first.state().writer.append(op);
  take_memory(first.state().writer, first.shape().platform(), first.kept_memory());
}

void hand_over(PlanRun& before, const PlanRun* drains, PlanRun& after, std::int64_t first_microbatch, Seconds restart) {
  Handover handover(before, drains, after, restart, nullptr);
  handover.append_mark(first_microbatch);
  handover.run();
}

void abandon(const PlanRun& before, const Resumption& resumption, WindowWriter& writer) {
  Op op;
  op.kind = OpKind::Abandon;
  op.microbatch = static_cast<std::uint32_t>(resumption.microbatch);
  op.stage = writer.next_stage();
  writer.append(op);
  take_memory(writer, before.shape().platform(), kept_by_rest(before, resumption));
}

void go_on_without(PlanRun& before, PlanRun& after, const Resumption& resumption, Seconds restart) {
  Handover(before, nullptr, after, restart, &resumption).run();
}

}  // namespace stagecraft
