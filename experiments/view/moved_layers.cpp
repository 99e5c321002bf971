#include "experiments/view/moved_layers.hpp"

#include "sim/model/carried_plan.hpp"
#include "sim/schedule/lowering/givers.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

using Stages = std::vector<FollowingStage>;

Stages stages_of(const Plan& plan) {
  Stages stages;
  for (const Stage& stage : plan.stages) stages.push_back({stage.layers, devices_of(stage)});
  return stages;
}

bool holds(const Stages& stages, DeviceId device, LayerId layer) {
  return std::ranges::any_of(stages, [&](const FollowingStage& stage) {
    return std::ranges::count(stage.devices, device) > 0 && std::ranges::count(stage.layers, layer) > 0;
  });
}

/// The devices that hold the layer, in the order of the stages.
std::vector<DeviceId> holders_of(const Stages& stages, LayerId layer) {
  std::vector<DeviceId> holders;
  for (const FollowingStage& stage : stages) {
    if (std::ranges::count(stage.layers, layer) == 0) continue;
    for (DeviceId device : stage.devices) {
      if (std::ranges::count(holders, device) == 0) holders.push_back(device);
    }
  }
  return holders;
}

/// A plan of the run.
struct PlanPart {
  Stages stages;
  std::uint32_t model = 0;
  StageId first_stage = StageId(0);
  bool follows_failure = false;  ///< then any device that is left may have given layers
};

/// The plans that have begun.
std::vector<PlanPart> plans_of(const Report& report, const Plan& first) {
  std::vector<PlanPart> plans{{stages_of(first), 0}};
  const std::vector<const ReplanQuestion*> changes = changes_of_plan(report);
  for (std::size_t i = 0; i < std::min(changes.size(), report.course.replans.size()); ++i) {
    plans.push_back({changes[i]->stages, changes[i]->model, report.course.replans[i].first_stage,
                     changes[i]->cause == ReplanQuestion::Cause::Failure});
  }
  return plans;
}

/// A device of a stage, counted from the first one of its plan.
struct Receiver {
  std::size_t stage = 0;
  DeviceId device;
  friend auto operator<=>(const Receiver&, const Receiver&) = default;
};

/// What moved from a plan to the next one.
class Moves {
 public:
  Moves(const PlanPart& before, const PlanPart& after, const Platform& platform,
        const std::vector<const LayerGraph*>& models)
      : before_(before.stages), after_(after) {
    const LayerGraph& old = *models[before.model];
    const LayerGraph& present = *models[after.model];
    known_ = layers_before(old, present);
    for (LayerId layer : indices(known_)) {
      LayerId& known = known_[layer];
      if (!known.is_none() && old.layers[known].parameters != present.layers[layer].parameters) known = LayerId::none();
    }
    if (!after.follows_failure) find_givers(platform);
  }

  [[nodiscard]] std::vector<LayerId> layers(const Receiver& to, DeviceId from) const {
    std::vector<LayerId> moved;
    for (LayerId layer : lacking(to)) {
      const bool gave = after_.follows_failure ? holds(before_, from, known_[layer])
                                               : gives(from, {to, holders_of(before_, known_[layer])});
      if (gave) moved.push_back(layer);
    }
    return moved;
  }

 private:
  /// `whom`: with the devices that held what it lacks.
  [[nodiscard]] bool gives(DeviceId from, const std::pair<Receiver, std::vector<DeviceId>>& whom) const {
    const auto giver = givers_.find(whom);
    return giver != givers_.end() && giver->second == from;
  }

  /// The layers that are new on the device but not new altogether.
  [[nodiscard]] std::vector<LayerId> lacking(const Receiver& to) const {
    std::vector<LayerId> layers = after_.stages[to.stage].layers;
    std::erase_if(layers,
                  [&](LayerId layer) { return known_[layer].is_none() || holds(before_, to.device, known_[layer]); });
    return layers;
  }

  /// As the run does, which shares the work among all devices that hold the same layers.
  void find_givers(const Platform& platform) {
    std::map<std::vector<DeviceId>, std::vector<Receiver>> receivers;
    for (std::size_t stage = 0; stage < after_.stages.size(); ++stage) {
      for (DeviceId device : after_.stages[stage].devices) {
        for (LayerId layer : lacking({stage, device})) {
          std::vector<Receiver>& all = receivers[holders_of(before_, known_[layer])];
          if (all.empty() || all.back() != Receiver{stage, device}) all.push_back({stage, device});
        }
      }
    }
    for (const auto& [holders, all] : receivers) {
      std::vector<DeviceId> devices;
      for (const Receiver& receiver : all) devices.push_back(receiver.device);
      const std::vector<DeviceId> found = givers(platform, holders, devices);
      for (std::size_t i = 0; i < all.size(); ++i) givers_[{all[i], holders}] = found[i];
    }
  }

  const Stages& before_;
  const PlanPart& after_;
  IndexVector<LayerId, LayerId> known_;  ///< by layer: that of the model before; none for one that is made anew
  std::map<std::pair<Receiver, std::vector<DeviceId>>, DeviceId> givers_;  ///< also by the devices that held the layers
};

}  // namespace

std::vector<Moved> moved_layers(const Report& report, const Plan& plan, const Platform& platform,
                                const std::vector<const LayerGraph*>& models) {
  const std::vector<PlanPart> plans = plans_of(report, plan);
  std::map<std::size_t, Moves> of_plan;
  std::vector<Moved> moved;
  for (const Migration& migration : report.course.migrations) {
    std::size_t of = plans.size() - 1;
    while (of > 0 && plans[of].first_stage > migration.stage) --of;
    const std::size_t stage = migration.stage.value() - plans[of].first_stage.value();
    if (of == 0 || stage >= plans[of].stages.size()) continue;  // of a plan that never began
    const auto moves = of_plan.try_emplace(of, plans[of - 1], plans[of], platform, models).first;
    moved.push_back({&migration, of - 1,
                     moves->second.layers({stage, platform.device(migration.to)}, platform.device(migration.from))});
  }
  return moved;
}

}  // namespace stagecraft
