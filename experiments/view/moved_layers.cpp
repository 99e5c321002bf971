#include "experiments/view/moved_layers.hpp"

#include "experiments/run/stall.hpp"
#include "sim/model/carried_plan.hpp"

#include <algorithm>

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

/// Whether the layer is copied from that device: of those that hold it, the first in the order of the stages.
bool is_giver(const Stages& stages, DeviceId giver, LayerId layer) {
  for (const FollowingStage& stage : stages) {
    for (DeviceId device : stage.devices) {
      if (holds(stages, device, layer)) return device == giver;
    }
  }
  return false;
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

/// `known`: for each layer of the stage's model the one of the model before.
std::vector<LayerId> layers_moved(const Stages& before, const PlanPart& after, std::size_t stage,
                                  const IndexVector<LayerId, LayerId>& known, DeviceId from, DeviceId to) {
  std::vector<LayerId> moved;
  for (LayerId layer : after.stages[stage].layers) {
    const LayerId old = known[layer];
    if (old.is_none() || holds(before, to, old)) continue;
    if (after.follows_failure ? holds(before, from, old) : is_giver(before, from, old)) moved.push_back(layer);
  }
  return moved;
}

}  // namespace

std::vector<Moved> moved_layers(const Report& report, const Plan& plan, const Platform& platform,
                                const std::vector<const LayerGraph*>& models) {
  const std::vector<PlanPart> plans = plans_of(report, plan);
  std::vector<Moved> moved;
  for (const Migration& migration : report.course.migrations) {
    std::size_t of = plans.size() - 1;
    while (of > 0 && plans[of].first_stage > migration.stage) --of;
    const std::size_t stage = migration.stage.value() - plans[of].first_stage.value();
    if (of == 0 || stage >= plans[of].stages.size()) continue;  // of a plan that never began
    const IndexVector<LayerId, LayerId> known = layers_before(*models[plans[of - 1].model], *models[plans[of].model]);
    moved.push_back({&migration, of - 1,
                     layers_moved(plans[of - 1].stages, plans[of], stage, known, platform.device(migration.from),
                                  platform.device(migration.to))});
  }
  return moved;
}

}  // namespace stagecraft
