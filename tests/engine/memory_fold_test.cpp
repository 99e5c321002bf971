#include "sim/engine/memory_fold.hpp"

#include "tests/engine/hand_made.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;
using namespace stagecraft::hand_made;

namespace {

constexpr PlaceId kPlace(0);

Span span(double start, double end, bool aborted = false) {
  Span result;
  result.start = Seconds(start);
  result.end = Seconds(end);
  result.aborted = aborted;
  return result;
}
MemoryDelta take(std::int64_t bytes, MemoryCategory category = MemoryCategory::Stash) {
  return {kPlace, category, false, Bytes(bytes)};
}
MemoryDelta release(std::int64_t bytes, MemoryCategory category = MemoryCategory::Stash) {
  return {kPlace, category, true, Bytes(-bytes)};
}
void add(MemoryFold& fold, const Span& when, const std::vector<MemoryDelta>& deltas) { fold.add(when, deltas); }

}  // namespace

TEST_CASE("memory fold: dates that differ by rounding are one instant") {
  // 0.2 + 0.2 + 0.2 is 0.6000000000000001, and three times 0.2 rounded once is 0.6.
  for (const double scale : {1.0, 10.0, 1e6}) {
    CAPTURE(scale);
    MemoryFold fold(platform({.memory = 12}));
    add(fold, span(0, (0.2 + 0.2 + 0.2) * scale), {take(10), release(10)});
    add(fold, span(0.6 * scale, 1.0 * scale), {take(10)});
    CHECK(fold.peak(kPlace).peak == Bytes(10));
    CHECK(fold.first_overflow(kPlace) == kNever);
  }
  MemoryFold fold(platform({.memory = 12}));
  add(fold, span(0, 0.6 + 1e-9), {take(10), release(10)});  // really later
  add(fold, span(0.6, 1.0), {take(10)});
  CHECK(fold.peak(kPlace).peak == Bytes(20));
}

TEST_CASE("memory fold: what is freed at an instant makes room for what is taken then") {
  MemoryFold fold(platform({.memory = 12}));
  add(fold, span(0, 2), {take(10), release(10)});
  add(fold, span(2, 4), {take(10), release(10)});
  CHECK(fold.peak(kPlace).peak == Bytes(10));
  CHECK(fold.peak(kPlace).peak_at == Seconds(0));
  CHECK(fold.first_overflow(kPlace) == kNever);
  add(fold, span(3, 5), {take(3)});
  CHECK(fold.peak(kPlace).peak == Bytes(13));
  CHECK(fold.peak(kPlace).peak_at == Seconds(3));
  CHECK(fold.first_overflow(kPlace) == Seconds(3));
}

TEST_CASE("memory fold: everything may be freed at once") {
  MemoryFold fold(platform({.memory = 12}));
  add(fold, span(0, 4), {take(9), release(9)});
  add(fold, span(1, 3, true), {take(4)});  // broken off
  fold.clear(Seconds(3));
  add(fold, span(3, 6), {take(11)});
  add(fold, span(5, 7), {take(1)});  // what was to be freed at 4 is not freed again
  fold.finish();
  CHECK(fold.peak(kPlace).peak == Bytes(13));
  CHECK(fold.first_overflow(kPlace) == Seconds(1));
  CHECK(fold.last_overflow(kPlace) == Seconds(3));
}

TEST_CASE("memory fold: a place may lose memory and get it back") {
  MemoryFold fold(platform({.memory = 12}));
  add(fold, span(0, 2), {take(10), release(4)});
  fold.set_capacity(kPlace, Bytes(7), Seconds(2));  // after what ends at this instant
  CHECK(fold.first_overflow(kPlace) == kNever);
  CHECK(fold.peak(kPlace).peak == Bytes(6));  // 1 byte is left, 2 were left before
  CHECK(fold.peak(kPlace).capacity == Bytes(7));
  fold.set_capacity(kPlace, Bytes(5), Seconds(3));
  CHECK(fold.first_overflow(kPlace) == Seconds(3));
  add(fold, span(4, 6), {take(2), release(4)});
  CHECK(fold.peak(kPlace).peak == Bytes(8));
  CHECK(fold.peak(kPlace).capacity == Bytes(5));
  CHECK(fold.peak(kPlace).peak_at == Seconds(4));
  add(fold, span(7, 8), {take(3)});  // 7 of 5 again
  fold.finish();
  CHECK(fold.last_overflow(kPlace) == kNever);
  fold.set_capacity(kPlace, Bytes(12), Seconds(9));
  CHECK(fold.last_overflow(kPlace) == Seconds(9));
  CHECK(fold.peak(kPlace).peak == Bytes(8));
}

TEST_CASE("memory fold: what is freed after the last start ends an overflow") {
  MemoryFold fold(platform({.memory = 12}));
  add(fold, span(0, 2), {take(10), release(10)});
  add(fold, span(1, 5), {take(3)});
  fold.finish();
  CHECK(fold.first_overflow(kPlace) == Seconds(1));
  CHECK(fold.last_overflow(kPlace) == Seconds(2));
}

TEST_CASE("memory fold: releases come in the order of their ends, whatever the order of the starts") {
  MemoryFold fold(platform());
  add(fold, span(0, 9), {take(1), release(1)});
  add(fold, span(1, 3), {take(2), release(2)});
  add(fold, span(2, 4), {take(4), release(4)});  // 7
  add(fold, span(3, 5), {take(1)});              // 1 + 4 + 1
  add(fold, span(9, 9), {take(7)});              // 1 + 7
  CHECK(fold.peak(kPlace).peak == Bytes(8));
  CHECK(fold.peak(kPlace).peak_at == Seconds(9));
}

TEST_CASE("memory fold: the breakdown is that of the peak's first instant") {
  MemoryFold fold(platform());
  add(fold, span(0, 0), {take(100, MemoryCategory::Weights)});
  add(fold, span(0, 2), {take(5), take(3, MemoryCategory::Workspace), release(3, MemoryCategory::Workspace)});
  add(fold, span(2, 4), {take(3, MemoryCategory::Buffers)});  // as much again, but later
  const MemoryPeak& peak = fold.peak(kPlace);
  CHECK(peak.peak == Bytes(108));
  CHECK(peak.peak_at == Seconds(0));
  CHECK(peak.breakdown == MemoryBreakdown{Bytes(100), Bytes(0), Bytes(0), Bytes(5), Bytes(0), Bytes(3)});
  CHECK(peak.capacity == Bytes(1000));
}

TEST_CASE("memory fold: an aborted start gives back what it took, and frees nothing else") {
  MemoryFold fold(platform());
  add(fold, span(0, 1), {take(10)});
  add(fold, span(1, 2, true), {take(5), release(10)});
  add(fold, span(2, 4), {take(5), release(15)});
  add(fold, span(4, 5), {take(15)});
  CHECK(fold.peak(kPlace).peak == Bytes(15));
  CHECK(fold.peak(kPlace).peak_at == Seconds(1));
}

TEST_CASE("memory fold: hosts are places with a capacity of their own") {
  const Platform with_hosts = platform({.memory = 50, .host_bandwidth = 1});
  MemoryFold fold(with_hosts);
  const PlaceId host = with_hosts.place(HostId(1));
  const std::vector<MemoryDelta> deltas = {{host, MemoryCategory::Stash, false, Bytes(60)}};
  fold.add(span(1, 2), deltas);
  CHECK(fold.peak(host).peak == Bytes(60));
  CHECK(fold.peak(host).capacity == Bytes(50));
  CHECK(fold.first_overflow(host) == Seconds(1));
  CHECK(fold.peak(with_hosts.place(HostId(0))).peak == Bytes(0));
}
