#include "experiments/measured/validation.hpp"

#include "experiments/measured/step_times.hpp"
#include "experiments/measured/validation_view.hpp"
#include "experiments/run/inputs.hpp"
#include "sim/workload/catalogue.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

namespace stagecraft::validation_test {
namespace {

const Platform& dgx() {
  static const Platform platform = build_platform(load_platform_spec("dgx-a100"));
  return platform;
}

DeviceDescription device() { return find_device("A100-SXM4-40GB", Precision::Bf16).value(); }

MeasuredSite site_of(const std::string& rows) {
  const MeasuredTable table = parse_measured_steps(
      "name,model,microbatch_size,global_batch,pipeline,recompute,iteration_time,peak_memory\n" + rows, "s.csv");
  return measured_sites(table.steps, {"dgx-a100", "bf16"}).front();
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

// Errors of +50 %, -25 % and 0.
TEST_CASE("step errors: worked by hand") {
  const StepErrors errors = step_errors({3.0, 3.0, 8.0}, {2.0, 4.0, 8.0});
  CHECK(errors.signed_median == 0);
  CHECK(errors.median == doctest::Approx(0.25));
  CHECK(errors.mean == doctest::Approx(0.25));
  CHECK(errors.worst == doctest::Approx(0.5));
  CHECK(errors.rank.value() == doctest::Approx(std::sqrt(0.75)));  // ranks 0.5, 0.5, 2 and 0, 1, 2
  CHECK(step_errors({1.0, 1.2}, {1.0, 1.0}).signed_median == doctest::Approx(0.1));
}

TEST_CASE("validation: steps with the times and the memory of the model are met exactly") {
  MeasuredSite site =
      site_of("a,bert-base,2,16,1,none,1 s,1 GiB\nb,bert-base,2,16,4,none,1 s,\nc,bert-base,4,64,2,full,1 s,1 GiB\n");
  const StepTimes times(site.steps, dgx(), device());
  for (std::size_t s = 0; s < site.steps.size(); ++s) {
    const Report report = times.report(s);
    site.steps[s].time = report.iterations.back();
    Bytes peak(0);
    for (const DeviceReport& each : report.devices) peak = std::max(peak, each.memory.peak);
    if (site.steps[s].peak_memory) site.steps[s].peak_memory = peak;
  }
  const Validation validation = validate(site, dgx(), device());
  CHECK(time_errors(validation).worst < 1e-12);
  CHECK(time_errors(validation).rank.value() == doctest::Approx(1));
  CHECK(memory_errors(validation).value().worst == 0);
  CHECK_FALSE(validation.steps[1].peak_memory);
  CHECK(measured_noise(validation).runs == 0);
}

// Of the same network and samples: 16 samples on one device take 3 passes, on 4 devices a quarter of it and the ramps
// 3 / 8, and with full recomputation 4 passes. The share is what makes the mean of the logarithms that of the measured.
TEST_CASE("validation: the plain formula") {
  const Validation validation =
      validate(site_of("a,bert-base,2,16,1,none,2 s,\nb,bert-base,2,16,4,none,0.5 s,\nc,bert-base,2,16,1,full,2 s,\n"),
               dgx(), device());
  const double first = validation.steps[0].plain.value();
  CHECK(validation.steps[1].plain.value() == doctest::Approx(first / 4 * (1.0 + 3.0 / 8.0)));
  CHECK(validation.steps[2].plain.value() == doctest::Approx(first * 4 / 3));
  double sum = 0;
  for (const PredictedStep& each : validation.steps) sum += std::log(each.plain / each.step.time);
  CHECK(sum == doctest::Approx(0).epsilon(1e-12));
  const StepTimes times(validation.site.steps, dgx(), device());
  const double flops = 3.0 * 16.0 * times.graph(0).work.forward.value();
  CHECK(first * validation.plain_share == doctest::Approx(flops / rate_in(device(), Precision::Bf16).value()));
}

// A monitor that shows 1.25 times the predicted peak and half a GiB.
TEST_CASE("validation: what a monitor shows beside what is allocated is found again") {
  MeasuredSite site = site_of(
      "a,bert-base,2,16,1,none,1 s,1 GiB\nb,bert-base,2,16,4,none,1 s,1 GiB\nc,bert-base,4,64,2,none,1 s,1 GiB\n"
      "d,bert-base,8,64,1,none,1 s,1 GiB\n");
  Validation validation = validate(site, dgx(), device());
  for (PredictedStep& each : validation.steps) {
    each.step.peak_memory = Bytes(each.peak_memory->value() * 5 / 4 + (std::int64_t{1} << 29));
  }
  const MemoryFit fit = memory_fit(validation).value();
  CHECK(fit.factor == doctest::Approx(1.25).epsilon(1e-6));
  CHECK(static_cast<double>(fit.offset.value()) == doctest::Approx(double{1 << 29}).epsilon(1e-5));
  CHECK(fit.errors.worst < 1e-8);
  const double left = static_cast<double>((validation.device_memory - fit.reserve).value());
  CHECK(left * fit.factor + static_cast<double>(fit.offset.value()) ==
        doctest::Approx(static_cast<double>(validation.device_memory.value())));
  validation.steps.pop_back();
  CHECK_FALSE(memory_fit(validation));
}

TEST_CASE("validation: a vocabulary with odd rows is remarked on once for each size of groups") {
  const MeasuredTable table = parse_measured_steps(
      "model,microbatch_size,global_batch,tensor,iteration_time\nbert-base,2,16,1,2 s\nbert-base,4,16,1,2 s\n"
      "bert-base,2,16,2,1 s\n",
      "s.csv");
  const Validation validation = validate(measured_sites(table.steps, {"dgx-a100", "bf16"}).front(), dgx(), device());
  REQUIRE(validation.remarks.size() == 2);
  CHECK(validation.remarks[0].find("30522 words") != std::string::npos);
  CHECK(validation.remarks[0].ends_with("pads it to 30592"));
  CHECK(validation.remarks[1].ends_with("pads it to 30720 for 2 devices"));
  const MeasuredTable even = parse_measured_steps(
      "model,microbatch_size,global_batch,tensor,iteration_time,precision\nbert-base,2,16,1,2 s,tf32\n", "s.csv");
  DeviceDescription single = device();
  single.precision = Precision::Fp32;  // four of its values are 16 bytes, and 30522 words no multiple of four
  CHECK(validate(measured_sites(even.steps, {"dgx-a100", {}}).front(), dgx(), single).remarks.size() == 1);
}

TEST_CASE("validation: what was measured again shows the noise") {
  const Validation validation = validate(
      site_of("a,bert-base,2,16,1,none,2 s,\nb,bert-base,2,16,1,none,2.2 s,1 GiB\nc,bert-base,2,32,1,none,3 s,\n"
              "d,bert-base,2,16,1,none,2.1 s,\ne,bert-base,2,32,1,none,3.6 s,\nf,bert-base,2,64,1,none,7 s,\n"),
      dgx(), device());
  const MeasuredNoise noise = measured_noise(validation);
  CHECK(noise.runs == 2);
  CHECK(noise.median == doctest::Approx(0.15));
  CHECK(noise.worst == doctest::Approx(0.2));
}

TEST_CASE("validation: the table has a row for each step, and the picture two dots") {
  const std::vector<Validation> validations{
      validate(site_of("a,bert-base,2,16,1,none,2 s,\nb,bert-base,2,16,4,none,0.5 s,3 GiB\n"), dgx(), device())};
  const std::string csv = validation_csv(validations);
  CHECK(count_of(csv, "\n") == 3);
  CHECK(csv.find("\ns,dgx-a100,bf16,b,1,0.5,") != std::string::npos);
  CHECK(csv.find(",3221225472,") != std::string::npos);
  CHECK(count_of(validation_picture(validations), "<circle ") == 5);  // and one of the legend
  const Description answer = describe_validations(validations, {{"x", "no batch is given"}});
  CHECK(answer.text.find("\nleft out  reason\nx         no batch is given\n") != std::string::npos);
}

TEST_CASE("measured sites: steps are apart by platform and precision; rows without take the options'") {
  const MeasuredTable table = parse_measured_steps(
      "model,microbatch_size,global_batch,iteration_time,platform,precision\nbert-base,1,1,1 s,dgx-h100,fp8\n"
      "bert-base,1,1,1 s,,\nbert-base,1,1,1 s,dgx-h100,bf16\nbert-base,2,2,1 s,dgx-h100,fp8\n",
      "s.csv");
  const std::vector<MeasuredSite> sites = measured_sites(table.steps, {"dgx-a100", "bf16"});
  REQUIRE(sites.size() == 3);
  CHECK(sites[0].steps.size() == 2);
  CHECK(sites[1].platform == "dgx-a100");
  CHECK(sites[2].precision == "bf16");
  CHECK_THROWS_AS(static_cast<void>(measured_sites(table.steps, {})), InputError);
}

}  // namespace stagecraft::validation_test
