#pragma once

#include <string>
#include <vector>

namespace stagecraft {

/// A plan file for groups of devices, written out as a user would.
struct GroupPlanFile {
  struct Stage {
    std::string layers;    ///< `{from: …, to: …}`
    int first_device = 0;  ///< its groups are the devices from here on
    std::string more;      ///< further keys, such as `, recompute: […]`
  };
  std::string model;
  std::string platform;
  std::string computed;  ///< device, sequence and granularity
  std::string groups;
  std::string schedule = "{name: 1f1b}";
  int zero = 1;
  int microbatch_size = 1;
  int microbatches = 0;
  int devices_of_group = 1;
  int replicas = 1;
  std::vector<Stage> stages;

  [[nodiscard]] std::string text() const {
    std::string text = "schema: stagecraft/plan/1\nmodel: " + model + "\nplatform: " + platform +
                       "\ncomputed: {architecture: " + model + ", precision: bf16, " + computed +
                       "}\nmicrobatch_size: " + std::to_string(microbatch_size) +
                       "\nmicrobatches: " + std::to_string(microbatches) + "\ngroups: " + groups +
                       "\nschedule: " + schedule + "\ntraining: {recipe: mixed, zero: " + std::to_string(zero) +
                       "}\nstages:\n";
    for (const Stage& stage : stages) {
      text +=
          "  - {layers: " + stage.layers + ", devices: [" + groups_from(stage.first_device) + "]" + stage.more + "}\n";
    }
    return text;
  }

 private:
  [[nodiscard]] std::string groups_from(int device) const {
    std::string text;
    for (int replica = 0; replica < replicas; ++replica) {
      text += replica == 0 ? "[" : ", [";
      for (int member = 0; member < devices_of_group; ++member) {
        text += (member == 0 ? "gpu" : ", gpu") + std::to_string(device++);
      }
      text += "]";
    }
    return text;
  }
};

}  // namespace stagecraft
