#pragma once

#include "experiments/measured/measured_steps.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/workload/retimed_profile.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

/// The times that measured steps take without contention, by the engine with which `plan` evaluates plans, for any
/// constants of their device. Steps that differ in their plan alone share the network.
class StepTimes {
 public:
  /// `platform`, all of whose devices are `device`, has to outlive it. The precision of `device` counts.
  /// **Throws** InputError, at the step, for a network that is not known or cannot be divided so, and as
  /// `measured_plan`.
  StepTimes(const std::vector<MeasuredStep>& steps, const Platform& platform, const DeviceDescription& device);

  /// By step, in seconds. **Requires** a device that differs in its constants alone.
  /// **Cost** O(operators of the networks + operations of the steps).
  [[nodiscard]] std::vector<double> at(const DeviceDescription& device);

  /// Of a step: the profile of a member of its groups, and its plan.
  [[nodiscard]] const LayerGraph& graph(std::size_t step) const { return networks_[runs_[step].network].profile.graph; }
  [[nodiscard]] const Plan& plan(std::size_t step) const { return runs_[step].plan; }

  /// Of a step, by the constants that were given last, at first those of the device.
  [[nodiscard]] Seconds time(std::size_t step) const;
  /// The same and everything else. **Cost** several times that of `time`.
  [[nodiscard]] Report report(std::size_t step) const;

  /// On the networks: keys of their files that were not read, a length of samples that was chosen, vocabularies with
  /// odd rows.
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  struct Network {
    std::string model;
    FileValues sizes;
    std::optional<std::int64_t> sequence;
    bool is_selective = false;  ///< attention is recomputed
    RetimedProfile profile;
  };
  struct Run {
    std::size_t network = 0;
    Plan plan;
  };

  const Platform& platform_;
  std::vector<Network> networks_;
  std::vector<Run> runs_;
  std::vector<std::string> remarks_;

  void remark(const std::string& text);
  [[nodiscard]] std::size_t network_of(const MeasuredStep& step, const DeviceDescription& device);
};

}  // namespace stagecraft
