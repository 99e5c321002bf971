// Constants that are fitted to one half of published steps, held against the other half.
#include "experiments/measured/calibration.hpp"
#include "experiments/measured/measured_site.hpp"
#include "experiments/measured/step_times.hpp"
#include "experiments/run/inputs.hpp"
#include "sim/io/text_file.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

namespace stagecraft::held_out_steps_test {
namespace {

MeasuredSite published(const std::string& table) {
  const std::string file = STAGECRAFT_SOURCE_DIR "/validation/" + table + ".csv";
  return measured_sites(parse_measured_steps(read_text_file(file), file).steps, {}).front();
}

StepErrors errors_on(const std::vector<MeasuredStep>& steps, const Platform& platform,
                     const DeviceDescription& device) {
  std::vector<double> measured;
  for (const MeasuredStep& step : steps) measured.push_back(step.time.value());
  return step_errors(StepTimes(steps, platform, device).at(device), measured);
}

/// The published constants would tell the fit what it is to find.
DeviceDescription elsewhere(DeviceDescription device) {
  device.efficiency.linear = 0.5;
  device.launch_overhead = Seconds(5e-6);
  device.host.time = Seconds(20e-6);
  return device;
}

}  // namespace

TEST_CASE("calibration: constants that one half of vTrain's steps give predict the other half as well") {
  const MeasuredSite site = published("vtrain-node");
  const Platform platform = build_platform(load_platform_spec(site.platform));
  const DeviceDescription start = elsewhere(find_device("A100-SXM4-80GB", Precision::Fp16).value());
  std::array<std::vector<MeasuredStep>, 2> halves;
  for (std::size_t s = 0; s < site.steps.size(); ++s) halves[s % 2].push_back(site.steps[s]);
  for (const std::size_t half : {0, 1}) {
    CAPTURE(half);
    const Calibration fit = calibrate(start, platform, halves[half], {"linear", "launch_overhead", "launch"});
    const double own = errors_of(fit, &FittedStep::after).mean;
    const double other = errors_on(halves[1 - half], platform, fit.device).mean;
    CHECK(errors_of(fit, &FittedStep::before).mean > 3 * own);
    CHECK(own < 0.07);
    CHECK(other < 0.07);
    CHECK(other < 1.15 * own);
  }
}

}  // namespace stagecraft::held_out_steps_test
