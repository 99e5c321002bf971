// Constants of collectives from tables of nccl-tests.
#include "experiments/measured/collective_fit.hpp"

#include "experiments/run/inputs.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/error.hpp"
#include "sim/io/csv_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/schedule/all_reduce.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>

namespace stagecraft::collective_fit_test {
namespace {

PlatformSpec shipped(const std::string& name, std::uint32_t nodes) {
  PlatformSpec spec = load_platform_spec(name);
  std::get<NodeForm>(spec.form).groups.front().count = nodes;
  spec.collectives = {};
  return spec;
}

/// What nccl-tests would print on a machine that takes `time_us(size)`.
template <class Time>
std::string printed(const std::string& program, std::uint32_t nodes, std::uint32_t devices, const Time& time_us) {
  std::string text = "# Collective test starting: " + program + "\n# Using devices\n";
  for (std::uint32_t rank = 0; rank < nodes * devices; ++rank) {
    text += fmt::format("#  Rank {:2} Group  0 Pid {} on host{} device {:2} [0x07] NVIDIA A100-SXM4-40GB\n", rank,
                        1000 + rank, rank / devices, rank % devices);
  }
  text +=
      "#\n#                                    out-of-place            in-place\n"
      "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
      "#   (B)  (elements)  (us)  (GB/s)  (GB/s)  (us)  (GB/s)  (GB/s)\n";
  for (std::int64_t size = 1 << 20; size <= std::int64_t{1} << 34; size *= 4) {
    const double time = time_us(size);
    const double bandwidth = static_cast<double>(size) / time * 1e-3;
    text += fmt::format("{} {} float sum -1 {:.17g} {:.2f} {:.2f} 0 {:.17g} {:.2f} {:.2f} N/A\n", size, size / 4, time,
                        bandwidth, bandwidth, time, bandwidth, bandwidth);
  }
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 100\n";
}

CollectiveFit fit_of(const PlatformSpec& spec, const std::string& text) {
  return fit_collectives(build_platform(spec), parse_nccl_tests(text, "t"));
}

// A switch of 300 GB/s with 2 us up and down; a ring of n has 2 (n - 1) steps of 4 us each and 2 (n - 1) / n of the
// bytes; a half has half of all, and half of the latency of the collective.
TEST_CASE("collective fit: constants of computed tables inside a node are found again") {
  constexpr double kLatency = 17e-6;
  constexpr double kShare = 0.73;
  const auto time_us = [&](double n, double part) {
    return [=](std::int64_t size) {
      const double flow = 2.0 * (n - 1.0) / n * static_cast<double>(size) / (300e9 * kShare);
      return part * (kLatency + 2.0 * (n - 1.0) * 4e-6 + flow) * 1e6;
    };
  };
  const std::string text =
      printed("all_reduce_perf", 1, 8, time_us(8, 1)) + printed("all_reduce_perf", 1, 4, time_us(4, 1)) +
      printed("reduce_scatter_perf", 1, 8, time_us(8, 0.5)) + printed("all_gather_perf", 1, 5, time_us(5, 0.5));
  const CollectiveFit fit = fit_of(shipped("dgx-a100", 1), text);
  REQUIRE(fit.groups.size() == 4);
  CHECK(fit.has_node);
  CHECK_FALSE(fit.has_network);
  CHECK(fit.constants.latency.value() == doctest::Approx(kLatency).epsilon(1e-6));
  CHECK(fit.constants.node == doctest::Approx(kShare).epsilon(1e-6));
  CHECK(fit.errors.root_mean_square < 1e-7);
  for (const CollectiveGroup& group : fit.groups) {
    CHECK(group.alone.latency.value() == doctest::Approx(kLatency).epsilon(1e-6));
    CHECK(group.alone.node == doctest::Approx(kShare).epsilon(1e-6));
    CHECK(group.bus_bandwidth.value() == doctest::Approx(300e9 * kShare).epsilon(1e-6));
  }
}

TEST_CASE("collective fit: the platform with the constants predicts the tables of several nodes") {
  for (const auto algorithm : {CollectiveSpec::Algorithm::Auto, CollectiveSpec::Algorithm::Ring}) {
    PlatformSpec truth = shipped("dgx-a100", 4);
    truth.collectives.algorithm = algorithm;
    truth.collectives.latency = Seconds(31e-6);
    truth.collectives.efficiency = 0.81;
    truth.collectives.network_efficiency = 0.64;
    const auto time_us = [&](std::uint32_t nodes) {
      return [&, nodes](std::int64_t size) {
        PlatformSpec part = truth;
        std::get<NodeForm>(part.form).groups.front().count = nodes;
        const Platform platform = build_platform(part);
        return lowered_time(platform, MemberRings{all_devices(platform)}, Exchange::Kind::AllReduce, Bytes(0),
                            Bytes(size))
                   .value() *
               1e6;
      };
    };
    PlatformSpec start = shipped("dgx-a100", 4);
    start.collectives.algorithm = algorithm;
    const CollectiveFit fit =
        fit_of(start, printed("all_reduce_perf", 1, 8, time_us(1)) + printed("all_reduce_perf", 2, 8, time_us(2)) +
                          printed("all_reduce_perf", 4, 8, time_us(4)));
    CHECK(fit.constants.latency.value() == doctest::Approx(31e-6).epsilon(1e-5));
    CHECK(fit.constants.node == doctest::Approx(0.81).epsilon(1e-6));
    CHECK(fit.constants.network == doctest::Approx(0.64).epsilon(1e-6));
    CHECK(fit.errors.root_mean_square < 1e-6);
    const CollectiveSpec made = with_constants(start.collectives, fit);
    CHECK(made.efficiency == fit.constants.node);
    CHECK(made.network_efficiency == fit.constants.network);
    CHECK(made.algorithm == algorithm);
  }
}

TEST_CASE("collective fit: a share that no table tells stays, and a table of bandwidths goes") {
  PlatformSpec spec = shipped("dgx-a100", 2);
  spec.collectives.efficiency = 0.9;
  spec.collectives.network_efficiency = 0.5;
  spec.collectives.table = {{Bytes(1), BytesPerSecond(1e9)}};
  const auto fit =
      fit_of(spec, printed("all_reduce_perf", 1, 2, [](std::int64_t size) { return 30 + 5e-6 * double(size); }));
  const CollectiveSpec made = with_constants(spec.collectives, fit);
  CHECK(made.network_efficiency == 0.5);
  // 1 byte of 2 takes 5 ps over the narrowest link.
  CHECK(made.efficiency == doctest::Approx(1.0 / (300e9 * 5e-12)).epsilon(1e-6));
  CHECK(made.table.empty());
}

/// The rows of a table of vTrain, whose times are in nanoseconds, as nccl-tests prints them.
std::string of_measured(const std::string& file, std::uint32_t devices) {
  const CsvTable table(read_text_file(file), file);
  std::string text = printed("all_reduce_perf", 1, devices, [](std::int64_t) { return 1.0; });
  text.resize(text.find("(GB/s)\n") + 7);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    text += table.at(row, 0) + " 1 float sum -1 " + std::to_string(std::stod(table.at(row, 3)) * 1e-3) + " 1 " +
            table.at(row, 4) + " 0 " + std::to_string(std::stod(table.at(row, 5)) * 1e-3) + " 1 " + table.at(row, 6) +
            " 0\n";
  }
  return text;
}

// The largest of each table says what two constants have to reach: its bus bandwidth, within their residual.
TEST_CASE("collective fit: tables of measured all-reduces on A100 come close to their bus bandwidths") {
  const std::string folder = std::string(STAGECRAFT_SHARED_DIR) + "/measurements/all-reduce/";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: there are no recorded measurements");
    return;
  }
  for (std::uint32_t devices = 2; devices <= 8; ++devices) {
    const std::string file = folder + "a100-AR_GPU" + std::to_string(devices) + "_1M_1024M_LUT.csv";
    const CsvTable table(read_text_file(file), file);
    const CollectiveFit fit = fit_of(shipped("dgx-a100", 1), of_measured(file, devices));
    REQUIRE(fit.groups.size() == 1);
    CAPTURE(file);
    CHECK(fit.groups.front().times.size() == 2 * table.rows());
    CHECK(fit.errors.root_mean_square < 0.1);
    const double largest = std::stod(table.at(table.rows() - 1, 4)) * 1e9;
    CHECK(std::abs(std::log(fit.groups.front().bus_bandwidth.value() / largest)) < 0.1);
  }
}

}  // namespace
}  // namespace stagecraft::collective_fit_test
