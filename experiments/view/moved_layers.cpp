#include "experiments/view/moved_layers.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

using Stages = std::vector<FollowingStage>;

Stages stages_of(const Plan& plan) {
  Stages stages;
  for (const Stage& stage : plan.stages) stages.push_back({stage.layers, devices_of(stage)});
  return stages;
}

/// The devices that hold the layer, the first of which is copied from.
std::vector<DeviceId> holders(const Stages& stages, LayerId layer) {
  std::vector<DeviceId> devices;
  for (const FollowingStage& stage : stages) {
    if (std::ranges::count(stage.layers, layer) == 0) continue;
    devices.insert(devices.end(), stage.devices.begin(), stage.devices.end());
  }
  return devices;
}

std::vector<LayerId> layers_moved(const Stages& before, const FollowingStage& stage, DeviceId from, DeviceId to) {
  std::vector<LayerId> moved;
  for (LayerId layer : stage.layers) {
    const std::vector<DeviceId> held = holders(before, layer);
    if (held.front() == from && std::ranges::count(held, to) == 0) moved.push_back(layer);
  }
  return moved;
}

}  // namespace

std::vector<Moved> moved_layers(const Report& report, const Plan& plan, const Platform& platform) {
  std::vector<Stages> plans{stages_of(plan)};
  for (const ReplanQuestion& question : report.course.questions) {
    if (question.first) plans.push_back(question.stages);
  }
  std::vector<Moved> moved;
  for (const Migration& migration : report.course.migrations) {
    std::size_t of = 0;
    std::size_t stage = migration.stage.value();
    while (stage >= plans[of].size()) stage -= plans[of++].size();
    moved.push_back({&migration, of - 1,
                     layers_moved(plans[of - 1], plans[of][stage], platform.device(migration.from),
                                  platform.device(migration.to))});
  }
  return moved;
}

}  // namespace stagecraft
