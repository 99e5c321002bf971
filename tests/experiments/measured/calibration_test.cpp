// Constants are found again from steps that were computed with them.
#include "experiments/measured/calibration.hpp"

#include "experiments/measured/calibration_view.hpp"
#include "experiments/measured/measured_plan.hpp"
#include "experiments/measured/step_times.hpp"
#include "experiments/run/inputs.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace stagecraft::calibration_test {
namespace {

const Platform& platform() {
  static const Platform dgx = build_platform(load_platform_spec("dgx-a100"));
  return dgx;
}

DeviceDescription a100() { return find_device("A100-SXM4-40GB", Precision::Bf16).value(); }

/// The device whose constants are to be found.
DeviceDescription truth() {
  DeviceDescription device = a100();
  device.efficiency.linear = 0.62;
  device.efficiency.memory = 0.71;
  device.tiling.fill = 90;
  device.launch_overhead = Seconds(9e-6);
  device.host.time = Seconds(41e-6);
  return device;
}

/// Of two networks, in several sizes, as pipelines and in groups; without times.
std::vector<MeasuredStep> varied_steps() {
  std::string text = "model,microbatch_size,global_batch,pipeline,data,tensor,iteration_time\n";
  const auto add = [&](const std::string& model, std::int64_t size, const std::string& degrees) {
    text += model + "," + std::to_string(size) + "," + std::to_string(16 * size) + "," + degrees + ",1 s\n";
  };
  for (const char* model : {"bert-base", "bert-large"}) {
    for (const std::int64_t size : {1, 2, 4, 8, 16, 32}) {
      add(model, size, "1,1,1");
      add(model, size, "4,2,1");
      add(model, size, "2,1,2");
    }
  }
  return parse_measured_steps(text, "steps.csv").steps;
}

/// With the times that the steps take on the device, times 1 + `noise(row)`.
template <class Noise>
std::vector<MeasuredStep> timed(std::vector<MeasuredStep> steps, const DeviceDescription& device, const Noise& noise) {
  const std::vector<double> times = StepTimes(steps, platform(), device).at(device);
  for (std::size_t s = 0; s < steps.size(); ++s) steps[s].time = Seconds(times[s] * (1.0 + noise(s)));
  return steps;
}
double silence(std::size_t /*row*/) { return 0.0; }

double found(const Calibration& calibration, const std::string& name) {
  for (const FittedValue& value : calibration.constants) {
    if (value.constant.name == name) return value.after / value.constant.get(truth());
  }
  return 0;
}

bool warns(const Calibration& calibration, const std::string& part) {
  for (const std::string& warning : calibration_warnings(calibration)) {
    if (warning.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("calibration: constants with which steps were computed are found again to 1e-6") {
  const std::vector<std::string> names = {"linear", "memory", "fill", "launch_overhead", "launch"};
  const Calibration calibration = calibrate(a100(), platform(), timed(varied_steps(), truth(), silence), names);
  REQUIRE(calibration.constants.size() == 5);
  for (const std::string& name : names) CHECK(found(calibration, name) == doctest::Approx(1.0).epsilon(1e-6));
  CHECK(errors_of(calibration, &FittedStep::after).worst < 1e-6);
  CHECK(errors_of(calibration, &FittedStep::before).worst > 0.1);
  for (const FittedValue& value : calibration.constants) CHECK(value.error.value() < 1e-4);
}

// Noise of equal parts up to 3 % in either direction, without a period that the steps share. The errors that are told
// are those of chance: what is found is within three of them.
TEST_CASE("calibration: from steps with 3 % noise constants are found within 5 %") {
  const auto noise = [](std::size_t row) {
    const double turn = 0.618033988749895 * static_cast<double>(row);
    return 0.06 * (turn - std::floor(turn)) - 0.03;
  };
  DeviceDescription start = truth();
  start.efficiency.linear = 0.8;
  start.efficiency.memory = 0.95;
  start.host.time = Seconds(73e-6);
  const std::vector<std::string> names = {"linear", "memory", "launch"};
  const Calibration calibration = calibrate(start, platform(), timed(varied_steps(), truth(), noise), names);
  for (const FittedValue& value : calibration.constants) {
    const double ratio = found(calibration, value.constant.name);
    CHECK(ratio == doctest::Approx(1.0).epsilon(0.05));
    CHECK(std::abs(ratio - 1.0) < 3.0 * value.error.value());
    CHECK(value.error.value() > 0.001);
    CHECK(value.error.value() < 0.1);
  }
  CHECK(errors_of(calibration, &FittedStep::after).mean < 0.02);
}

TEST_CASE("calibration: a constant on which no step depends stays, and a warning names it") {
  const Calibration calibration =
      calibrate(a100(), platform(), timed(varied_steps(), truth(), silence), {"linear", "fp8"});
  CHECK(calibration.constants.at(1).constant.name == "fp8");
  CHECK(calibration.constants[1].after == calibration.constants[1].before);
  CHECK(calibration.constants[1].rows == 0);
  CHECK_FALSE(calibration.constants[1].error.has_value());
  CHECK(calibration.device.efficiency.linear8 == a100().efficiency.linear8);
  CHECK(warns(calibration, "no row depends on 'fp8'"));
  CHECK_FALSE(warns(calibration, "no row depends on 'linear'"));
}

// Steps that differ in the number of microbatches alone: each constant has the same part in all of them.
TEST_CASE("calibration: constants that the steps cannot tell apart are named together") {
  const std::vector<MeasuredStep> steps =
      parse_measured_steps(
          "model,microbatch_size,global_batch,iteration_time\nbert-large,8,800,1 s\nbert-large,8,1600,1 s\n"
          "bert-large,8,2400,1 s\nbert-large,8,3200,1 s\n",
          "steps.csv")
          .steps;
  const auto noise = [](std::size_t row) { return row % 2 == 0 ? 0.01 : -0.01; };
  const Calibration calibration =
      calibrate(a100(), platform(), timed(steps, truth(), noise), {"linear", "launch_overhead"});
  REQUIRE(calibration.confusions.size() == 1);
  CHECK(std::abs(calibration.confusions.front().correlation) > 0.999);
  CHECK(warns(calibration, "the rows hardly tell 'linear' and 'launch_overhead' apart"));
}

// With a fast host all steps wait for the device, and the time of a launch changes none of them.
TEST_CASE("calibration: a constant without effect where it starts is found where it has one") {
  DeviceDescription start = truth();
  start.host.time = Seconds(4e-6);
  const std::vector<MeasuredStep> steps =
      parse_measured_steps(
          "model,microbatch_size,global_batch,iteration_time\nbert-base,1,16,1 s\nbert-base,2,32,1 s\n", "steps.csv")
          .steps;
  const Calibration calibration = calibrate(start, platform(), timed(steps, truth(), silence), {"launch"});
  CHECK(found(calibration, "launch") == doctest::Approx(1.0).epsilon(1e-6));
}

// With so slow products that no step waits for the host; the fit finds them faster first, and then the launches.
TEST_CASE("calibration: a constant that has an effect only where others ended is fitted from there") {
  DeviceDescription start = truth();
  start.efficiency.linear = 0.01;
  start.host.time = Seconds(30e-6);
  const std::vector<MeasuredStep> steps =
      parse_measured_steps(
          "model,microbatch_size,global_batch,iteration_time\nbert-base,1,16,1 s\nbert-base,4,32,1 s\n"
          "bert-base,32,64,1 s\n",
          "steps.csv")
          .steps;
  const Calibration calibration = calibrate(start, platform(), timed(steps, truth(), silence), {"linear", "launch"});
  CHECK(found(calibration, "linear") == doctest::Approx(1.0).epsilon(1e-6));
  CHECK(found(calibration, "launch") == doctest::Approx(1.0).epsilon(1e-6));
  CHECK(calibration.constants[1].rows > 0);
}

// Large microbatches on one device: nothing waits for the host, and the parts of kernels go together.
TEST_CASE("calibration: without a choice only what the steps determine is fitted") {
  const std::vector<MeasuredStep> steps =
      parse_measured_steps(
          "model,microbatch_size,global_batch,iteration_time\nbert-base,32,64,1 s\nbert-base,64,128,1 s\n"
          "bert-base,128,256,1 s\nbert-large,32,64,1 s\nbert-large,64,128,1 s\nbert-large,128,256,1 s\n",
          "steps.csv")
          .steps;
  const auto noise = [](std::size_t row) { return row % 3 == 0 ? 0.03 : row % 3 == 1 ? -0.02 : 0.0; };
  DeviceDescription slower = a100();
  slower.efficiency.linear *= 0.8;
  const std::vector<MeasuredStep> measured = timed(steps, slower, noise);
  CHECK_FALSE(
      calibration_warnings(calibrate(a100(), platform(), measured, {"linear", "memory", "launch_overhead", "launch"}))
          .empty());
  const Calibration usual = calibrate_usual(a100(), platform(), measured);
  CHECK(calibration_warnings(usual).empty());
  CHECK(usual.left.size() + usual.constants.size() == 4);
  CHECK(errors_of(usual, &FittedStep::after).mean < 0.03);
  for (const DeviceConstant& constant : all_device_constants()) {
    const bool is_left = std::ranges::find(usual.left, constant.name, &LeftConstant::name) != usual.left.end();
    if (is_left) CHECK(constant.get(usual.device) == constant.get(a100()));
  }
}

// Both times of a product, of its operations and of what it moves, grow with the microbatch.
TEST_CASE("calibration: without a choice one of two constants is left that varied steps hardly tell apart") {
  DeviceDescription other = a100();
  other.efficiency.linear = 0.62;
  other.launch_overhead = Seconds(9e-6);
  other.host.time = Seconds(41e-6);
  const Calibration usual = calibrate_usual(a100(), platform(), timed(varied_steps(), other, silence));
  REQUIRE(usual.left.size() == 1);
  CHECK(usual.left.front().name == "memory");
  CHECK(usual.constants.size() == 3);
  CHECK(errors_of(usual, &FittedStep::after).worst < 1e-6);
}

TEST_CASE("calibration: without a choice a single step has the constant that it depends on most") {
  const auto constant_of = [](const std::string& sizes) {
    const std::vector<MeasuredStep> steps =
        parse_measured_steps("model,microbatch_size,global_batch,iteration_time\nbert-large," + sizes + ",1 s\n",
                             "s.csv")
            .steps;
    const Calibration usual = calibrate_usual(a100(), platform(), timed(steps, truth(), silence));
    CHECK(usual.left.size() == 3);
    CHECK(errors_of(usual, &FittedStep::after).worst < 1e-6);
    REQUIRE(usual.constants.size() == 1);
    return usual.constants.front().constant.name;
  };
  CHECK(constant_of("1,2") == "launch");
  CHECK(constant_of("512,1024") == "linear");
}

TEST_CASE("calibration: more constants than steps, and a constant without a value, are refused") {
  std::vector<MeasuredStep> steps = varied_steps();
  steps.resize(1);
  CHECK_THROWS_AS(calibrate(a100(), platform(), steps, {"linear", "memory"}), InputError);
  DeviceDescription plain = a100();
  plain.loss_traffic = 0;
  CHECK_THROWS_AS(calibrate(plain, platform(), steps, {"loss_traffic"}), InputError);
}

// The times of a profile are rounded to the nanosecond, operator by operator; those of a fit are not.
TEST_CASE("step times: as plans of computed profiles take by the same engine") {
  const std::vector<MeasuredStep> steps = varied_steps();
  const std::vector<double> times = StepTimes(steps, platform(), a100()).at(truth());
  REQUIRE(times.size() == steps.size());
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const MeasuredStep& step = steps[s];
    const LayerGraph graph =
        build_model(*find_architecture(step.model), truth(), step.microbatch_size, Granularity::Block, step.degrees)
            .profiles.front();
    const Report report = evaluate_plan(graph, platform(), measured_plan(step, graph, platform()));
    CHECK(times[s] == doctest::Approx(report.iterations.back().value()).epsilon(1e-4));
  }
}

}  // namespace stagecraft::calibration_test
