#include "sim/engine/extended_report.hpp"

#include "sim/engine/derived_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace stagecraft {
namespace {

/// Extends the figures of one report by those of another. Whatever does not grow has to be equal.
class Extension {
 public:
  explicit Extension(std::int64_t count) : count_(count) {}

  /// What is no less than 0, apart from rounding.
  void grow(Seconds& value, Seconds next) const {
    value = std::max(value + (next - value) * static_cast<double>(count_), Seconds(0));
  }
  void grow(double& value, double next) const { value += (next - value) * static_cast<double>(count_); }
  void grow(std::uint64_t& value, std::uint64_t next) const {
    value += (next - value) * static_cast<std::uint64_t>(count_);
  }
  template <class Value>
  void stay(const Value& value, const Value& next) {
    holds_ = holds_ && value == next;
  }
  /// Extends each of them with `each`, if there are equally many.
  template <class Value, class Each>
  void each(std::vector<Value>& values, const std::vector<Value>& next, Each each) {
    stay(values.size(), next.size());
    for (std::size_t i = 0; holds_ && i < values.size(); ++i) each(values[i], next[i]);
  }
  [[nodiscard]] bool holds() const { return holds_; }

 private:
  std::int64_t count_;
  bool holds_ = true;
};

constexpr std::array kTimeParts = {
    &TimeSplit::compute,    &TimeSplit::recompute,       &TimeSplit::exchange, &TimeSplit::exposed_communication,
    &TimeSplit::all_reduce, &TimeSplit::collective_wait, &TimeSplit::update,   &TimeSplit::idle,
    &TimeSplit::ramps};

void extend(TimeSplit& time, const TimeSplit& next, const Extension& by) {
  for (const auto part : kTimeParts) by.grow(time.*part, next.*part);
}

void extend(MemoryPeak& memory, const MemoryPeak& next, Extension& by) {
  by.stay(memory.peak, next.peak);
  by.stay(memory.breakdown, next.breakdown);
  by.stay(memory.capacity, next.capacity);
  by.grow(memory.peak_at, next.peak_at);
}

void extend(DeviceReport& device, const DeviceReport& next, Extension& by) {
  by.stay(device.device, next.device);
  by.stay(device.stages, next.stages);
  by.stay(device.in_flight_peak, next.in_flight_peak);
  by.each(device.stage_times, next.stage_times, [&](Seconds& time, Seconds later) { by.grow(time, later); });
  by.grow(device.busy, next.busy);
  by.grow(device.extent, next.extent);
  extend(device.time, next.time, by);
  extend(device.memory, next.memory, by);
}

void extend(MemoryOverflow& overflow, const MemoryOverflow& next, Extension& by) {
  by.stay(overflow.place, next.place);
  by.stay(overflow.excess, next.excess);
  by.stay(overflow.until.has_value(), next.until.has_value());
  by.grow(overflow.at, next.at);
  if (overflow.until && next.until) by.grow(*overflow.until, *next.until);
}

/// The largest difference between two figures so far, as a part of the larger one.
class LargestDifference {
 public:
  void add(double one, double other, double of) {
    if (of > 0.0) largest_ = std::max(largest_, std::abs(one - other) / of);
  }
  void add(double one, double other) { add(one, other, std::max(std::abs(one), std::abs(other))); }
  void add(Seconds one, Seconds other) { add(one.value(), other.value()); }
  void add(const MemoryPeak& one, const MemoryPeak& other) {
    add(static_cast<double>(one.peak.value()), static_cast<double>(other.peak.value()));
  }
  [[nodiscard]] double value() const { return largest_; }

 private:
  double largest_ = 0.0;
};

}  // namespace

std::optional<Report> extended_report(const Report& shorter, const Report& longer, std::int64_t count,
                                      const Platform& platform, const Measurement& measurement) {
  Extension by(count);
  Report report = shorter;
  by.each(report.iterations, longer.iterations, [&](Seconds& time, Seconds next) { by.grow(time, next); });
  by.grow(report.measured.whole, longer.measured.whole);
  by.grow(report.measured.first, longer.measured.first);
  by.grow(report.measured.second, longer.measured.second);
  by.each(report.devices, longer.devices, [&](DeviceReport& own, const DeviceReport& next) { extend(own, next, by); });
  by.each(report.hosts, longer.hosts, [&](HostReport& own, const HostReport& next) {
    by.stay(own.host, next.host);
    extend(own.memory, next.memory, by);
  });
  by.each(report.links, longer.links, [&](LinkReport& own, const LinkReport& next) {
    by.stay(own.link, next.link);
    by.grow(own.carried, next.carried);
  });
  by.each(report.overflows, longer.overflows,
          [&](MemoryOverflow& own, const MemoryOverflow& next) { extend(own, next, by); });
  by.grow(report.operations, longer.operations);
  by.grow(report.end, longer.end);
  if (!by.holds()) return std::nullopt;
  report.recompute_time = report.exposed_communication = Seconds(0);
  derive_figures(report, platform, measurement, measurement.microbatches * measurement.microbatch_size);
  return report;
}

double largest_difference(const Report& a, const Report& b) {
  LargestDifference largest;
  const double measured = std::max(a.measured.whole, b.measured.whole).value();
  largest.add(a.end, b.end);
  largest.add(a.measured.whole, b.measured.whole);
  largest.add(static_cast<double>(a.operations), static_cast<double>(b.operations));
  for (std::size_t i = 0; i < std::min(a.devices.size(), b.devices.size()); ++i) {
    const DeviceReport& one = a.devices[i];
    const DeviceReport& other = b.devices[i];
    largest.add(one.busy, other.busy);
    for (const auto part : kTimeParts) largest.add((one.time.*part).value(), (other.time.*part).value(), measured);
    largest.add(one.memory, other.memory);
    largest.add(static_cast<double>(one.in_flight_peak), static_cast<double>(other.in_flight_peak));
  }
  for (std::size_t i = 0; i < std::min(a.hosts.size(), b.hosts.size()); ++i) {
    largest.add(a.hosts[i].memory, b.hosts[i].memory);
  }
  for (std::size_t i = 0; i < std::min(a.links.size(), b.links.size()); ++i) {
    largest.add(a.links[i].carried, b.links[i].carried);
  }
  return largest.value();
}

}  // namespace stagecraft
