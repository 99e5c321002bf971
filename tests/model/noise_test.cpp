#include "sim/model/noise.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <utility>
#include <vector>

using namespace stagecraft;

namespace {

Op computation(OpKind kind, std::uint32_t microbatch, std::uint16_t chunk = 0) {
  Op op;
  op.kind = kind;
  op.microbatch = microbatch;
  op.chunk = chunk;
  return op;
}

double forward_factor(const Jitter& jitter, std::uint32_t microbatch, std::uint32_t device = 0) {
  return noise_factor(jitter, computation(OpKind::Forward, microbatch), DeviceId(device));
}

/// Logarithms of many factors: all kinds, devices and microbatches.
std::vector<double> logarithms(const Jitter& jitter) {
  std::vector<double> values;
  for (const OpKind kind : {OpKind::Forward, OpKind::Backward, OpKind::BackwardInput, OpKind::BackwardWeight,
                            OpKind::ForwardBackward, OpKind::Recompute, OpKind::Update}) {
    for (std::uint32_t device = 0; device < 10; ++device) {
      for (std::uint32_t microbatch = 0; microbatch < 1000; ++microbatch) {
        values.push_back(std::log(noise_factor(jitter, computation(kind, microbatch), DeviceId(device))));
      }
    }
  }
  return values;
}

/// Mean and standard deviation.
std::pair<double, double> moments(const std::vector<double>& values) {
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / static_cast<double>(values.size()))};
}

}  // namespace

TEST_CASE("noise: without a deviation every factor is 1, exactly") {
  for (std::uint32_t k = 0; k < 1000; ++k) CHECK(forward_factor({0.0, k}, k) == 1.0);
}

// 70000 draws: the mean of their logarithms is within five standard errors, sigma / sqrt(70000), of 0.
TEST_CASE("noise: logarithms have mean 0 and the deviation that was asked for, half of the factors are below 1") {
  for (const double sigma : {0.01, 0.2, 2.0}) {
    const std::vector<double> values = logarithms({sigma, 7});
    const auto [mean, deviation] = moments(values);
    CAPTURE(sigma);
    CHECK(std::abs(mean) < 5 * sigma / std::sqrt(70000.0));
    CHECK(deviation == doctest::Approx(sigma).epsilon(0.015));
    std::size_t below = 0;
    std::size_t within = 0;  // one deviation: 68.27 % of a normal distribution
    for (const double value : values) {
      if (value < 0) ++below;
      if (std::abs(value) < sigma) ++within;
    }
    CHECK(static_cast<double>(below) / 70000 == doctest::Approx(0.5).epsilon(0.02));
    CHECK(static_cast<double>(within) / 70000 == doctest::Approx(0.6827).epsilon(0.01));
  }
}

TEST_CASE("noise: microbatches that follow one another, devices and kinds are not correlated") {
  const Jitter jitter{1.0, 3};
  const int count = 20000;
  double by_microbatch = 0.0;
  double by_device = 0.0;
  double by_kind = 0.0;
  for (std::uint32_t k = 0; k < count; ++k) {
    const double z = std::log(forward_factor(jitter, k));
    by_microbatch += z * std::log(forward_factor(jitter, k + 1));
    by_device += z * std::log(forward_factor(jitter, k, 1));
    by_kind += z * std::log(noise_factor(jitter, computation(OpKind::Backward, k), DeviceId(0)));
  }
  for (const double sum : {by_microbatch, by_device, by_kind}) CHECK(std::abs(sum / count) < 5 / std::sqrt(count));
}

TEST_CASE("noise: each of seed, device, kind, microbatch and chunk makes another factor, and nothing else does") {
  const Jitter jitter{0.3, 5};
  Op op = computation(OpKind::Forward, 4, 1);
  std::set<double> factors = {noise_factor(jitter, op, DeviceId(2)),
                              noise_factor({0.3, 6}, op, DeviceId(2)),
                              noise_factor(jitter, op, DeviceId(3)),
                              noise_factor(jitter, computation(OpKind::Backward, 4, 1), DeviceId(2)),
                              noise_factor(jitter, computation(OpKind::Forward, 5, 1), DeviceId(2)),
                              noise_factor(jitter, computation(OpKind::Forward, 4, 0), DeviceId(2))};
  CHECK(factors.size() == 6);
  const double factor = noise_factor(jitter, op, DeviceId(2));
  op.stage = StageId(9);
  op.seconds = Seconds(3);
  op.priority = 1;
  op.from = PlaceId(7);
  CHECK(noise_factor(jitter, op, DeviceId(2)) == factor);
}

// Another figure here is another result of every study with noise: it belongs under "Results changed".
TEST_CASE("noise: the factors of a seed stay what they are") {
  CHECK(forward_factor({0.1, 1}, 0) == 1.0843000555429061);
  CHECK(forward_factor({0.1, 1}, 1) == 0.95869203110439882);
  CHECK(noise_factor({2.0, 12345678901234567U}, computation(OpKind::Update, 1000000, 3), DeviceId(511)) ==
        20.693908649439656);
  CHECK(mix_seeds(1, 2) == 583880340377267059U);
}

TEST_CASE("noise: the quantile inverts the normal distribution") {
  CHECK(normal_quantile(0.5) == 0.0);
  for (const double share :
       {0x1p-53, 1e-12, 1e-6, 0.01, 0.0749, 0.0751, 0.3, 0.49, 0.7, 0.924, 0.926, 0.999, 0.999999}) {
    CAPTURE(share);
    const double z = normal_quantile(share);
    CHECK(0.5 * std::erfc(-z / std::sqrt(2.0)) == doctest::Approx(share).epsilon(3e-6));
    if (share > 1e-3 && share < 0.5) CHECK(normal_quantile(1.0 - share) == doctest::Approx(-z).epsilon(1e-9));
  }
}

TEST_CASE("noise: a number for the run changes the noise of the events, and nothing else of them") {
  const Events events = {{Seconds(1), std::nullopt, Slowdown{DeviceId(0), 2}},
                         {Seconds(2), std::nullopt, Jitter{0.1, 3}},
                         {Seconds(0), 4, Jitter{0.2, 3}}};
  const Events first = with_noise_seed(events, 1);
  REQUIRE(first.size() == 3);
  CHECK(first[0] == events[0]);
  CHECK(std::get<Jitter>(first[1].change).sigma == 0.1);
  CHECK(std::get<Jitter>(first[1].change).seed == mix_seeds(3, 1));
  CHECK(first[2].at_microbatch == 4);
  CHECK(with_noise_seed(events, 1) == first);
  CHECK(with_noise_seed(events, 2) != first);
  CHECK(with_noise_seed(events, 0) != events);
}
