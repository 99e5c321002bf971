// The report of a long run from those of two short ones.
#include "sim/engine/extended_report.hpp"

#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

/// An iteration of one device that fills for 5 s and takes 2 s for each microbatch of 10 samples.
Report report_of(std::int64_t microbatches) {
  Report report;
  const Seconds time(5.0 + 2.0 * static_cast<double>(microbatches));
  report.iterations = {time};
  report.measured.whole = report.end = time;
  DeviceReport device;
  device.device = DeviceId(0);
  device.stages = {StageId(0)};
  device.busy = device.time.compute = time - Seconds(5);
  device.stage_times = {device.busy};
  device.extent = device.busy;
  device.time.idle = device.time.ramps = Seconds(5);
  device.memory.peak = Bytes(100);
  device.memory.capacity = Bytes(200);
  report.devices = {device};
  report.operations = static_cast<std::uint64_t>(microbatches);
  return report;
}

Measurement measurement(std::int64_t microbatches) {
  return {.synchronous = true, .microbatch_size = 10, .microbatches = microbatches};
}

}  // namespace

TEST_CASE("extended report: times and counts grow, and ratios follow from them") {
  const Platform platform = testing::pairwise(1);
  const auto report = extended_report(report_of(4), report_of(6), 498, platform, measurement(1000));
  REQUIRE(report);
  CHECK(report->iterations == std::vector<Seconds>{Seconds(2005)});
  CHECK(report->end == Seconds(2005));
  CHECK(report->operations == 1000);
  CHECK(report->devices[0].busy == Seconds(2000));
  CHECK(report->devices[0].time.ramps == Seconds(5));
  CHECK(report->bubble_ratio == doctest::Approx(5.0 / 2005.0));
  CHECK(report->throughput == doctest::Approx(10'000.0 / 2005.0));
  CHECK(report->devices[0].memory.peak == Bytes(100));
  REQUIRE(report->bottleneck);
  CHECK(report->bottleneck->kind == Bottleneck::Kind::Stage);  // of the short runs the ramps are not far behind
}

TEST_CASE("extended report: none if the longer run needs more memory or has more in flight") {
  const Platform platform = testing::pairwise(1);
  Report more = report_of(6);
  more.devices[0].memory.peak = Bytes(101);
  CHECK_FALSE(extended_report(report_of(4), more, 498, platform, measurement(1000)));
  more = report_of(6);
  more.devices[0].in_flight_peak = 1;
  CHECK_FALSE(extended_report(report_of(4), more, 498, platform, measurement(1000)));
  more = report_of(6);
  more.overflows.push_back({PlaceId(0), Seconds(1), Bytes(1)});
  CHECK_FALSE(extended_report(report_of(4), more, 498, platform, measurement(1000)));
}

TEST_CASE("extended report: the largest difference is a part of the larger figure") {
  Report a = report_of(4);
  Report b = report_of(4);
  CHECK(largest_difference(a, b) == 0.0);
  b.devices[0].memory.peak = Bytes(125);
  CHECK(largest_difference(a, b) == doctest::Approx(0.2));
  CHECK(largest_difference(b, a) == doctest::Approx(0.2));
}

TEST_CASE("extended report: the largest difference sees hosts, microbatches in flight and what takes a device's time") {
  const Report a = report_of(4);
  Report b = a;
  b.devices[0].in_flight_peak = 1;
  CHECK(largest_difference(a, b) == 1.0);
  b = a;
  b.devices[0].time.exposed_communication = Seconds(1.3);
  CHECK(largest_difference(a, b) == doctest::Approx(0.1));  // of the measured 13 s
  Report host = a;
  host.hosts.push_back({HostId(0), {.peak = Bytes(4)}});
  b = host;
  b.hosts[0].memory.peak = Bytes(3);
  CHECK(largest_difference(host, b) == 0.25);
}

}  // namespace stagecraft
