#include "experiments/view/moved_layers.hpp"

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

/// The device that the layer is copied from: of those that hold it, the first in the order of the stages.
DeviceId holder_of(const Stages& stages, LayerId layer) {
  for (const FollowingStage& stage : stages) {
    for (DeviceId device : stage.devices) {
      if (holds(stages, device, layer)) return device;
    }
  }
  return DeviceId::none();
}

/// A plan of the run.
struct PlanPart {
  Stages stages;
  std::uint32_t model = 0;
};

/// `known`: for each layer of the stage's model the one of the model before.
std::vector<LayerId> layers_moved(const Stages& before, const FollowingStage& stage,
                                  const IndexVector<LayerId, LayerId>& known, DeviceId from, DeviceId to) {
  std::vector<LayerId> moved;
  for (LayerId layer : stage.layers) {
    const LayerId old = known[layer];
    if (!old.is_none() && holder_of(before, old) == from && !holds(before, to, old)) moved.push_back(layer);
  }
  return moved;
}

}  // namespace

std::vector<Moved> moved_layers(const Report& report, const Plan& plan, const Platform& platform,
                                const std::vector<const LayerGraph*>& models) {
  std::vector<PlanPart> plans{{stages_of(plan), 0}};
  for (const ReplanQuestion& question : report.course.questions) {
    if (question.first) plans.push_back({question.stages, question.model});
  }
  std::vector<Moved> moved;
  for (const Migration& migration : report.course.migrations) {
    std::size_t of = 0;
    std::size_t stage = migration.stage.value();
    while (stage >= plans[of].stages.size()) stage -= plans[of++].stages.size();
    const IndexVector<LayerId, LayerId> known = layers_before(*models[plans[of - 1].model], *models[plans[of].model]);
    moved.push_back({&migration, of - 1,
                     layers_moved(plans[of - 1].stages, plans[of].stages[stage], known, platform.device(migration.from),
                                  platform.device(migration.to))});
  }
  return moved;
}

}  // namespace stagecraft
