#include "sim/engine/collectives.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;

namespace {

Op mark_of(OpKind kind, std::uint16_t number) {
  Op op;
  op.kind = kind;
  op.stage = StageId(0);
  op.chunk = number;
  return op;
}

Span span_of(double start, double end) {
  Span span;
  span.start = Seconds(start);
  span.end = Seconds(end);
  return span;
}

using Intervals = std::vector<TimeInterval>;

}  // namespace

TEST_CASE("collectives: what intervals cover is cut to the period and counts once where they overlap") {
  const TimeIntervals given{{Seconds(4), Seconds(9)}, {Seconds(0), Seconds(3)}, {Seconds(2), Seconds(5)}};
  const Intervals expected{{Seconds(1), Seconds(3)}, {Seconds(3), Seconds(5)}, {Seconds(5), Seconds(8)}};
  CHECK(given.covered(Seconds(1), Seconds(8)) == expected);
  CHECK(given.covered(Seconds(9), Seconds(12)).empty());
}

TEST_CASE("collectives: a past interval is forgotten once it has ended, unless one that lasts began earlier") {
  CollectivePast past;
  for (const auto& [begin, end] : {std::pair(0, 2), {1, 4}, {1, 3}}) past.stays.add({Seconds(begin), Seconds(end)});
  past.exchanges.add({Seconds(0), Seconds(2)});
  past.forget_until(Seconds(2));
  CHECK(past.exchanges.covered(Seconds(0), Seconds(9)).empty());
  const Intervals rest{{Seconds(1), Seconds(3)}, {Seconds(3), Seconds(4)}};
  CHECK(past.stays.covered(Seconds(0), Seconds(9)) == rest);
  past.stays.add({Seconds(0), Seconds(9)});
  past.forget_until(Seconds(4));
  CHECK(past.stays.covered(Seconds(4), Seconds(8)) == Intervals{{Seconds(4), Seconds(8)}});
  past.clear();
  CHECK(past.stays.covered(Seconds(0), Seconds(9)).empty());
}

TEST_CASE("collectives: one has its members once and the latency of each phase, and may begin anew after its end") {
  CollectivesUnderWay under_way;
  under_way.begin(mark_of(OpKind::CollectiveBegin, 1), span_of(2, 3));
  for (std::uint32_t member : {4U, 0U, 4U}) under_way.add_member(mark_of(OpKind::AllReduce, 1), member);
  under_way.begin(mark_of(OpKind::CollectiveBegin, 1), span_of(5, 6));
  under_way.begin(mark_of(OpKind::CollectiveBegin, 2), span_of(1, 2));
  const Collective first = under_way.end(mark_of(OpKind::CollectiveEnd, 1));
  CHECK(first.begin == Seconds(2));
  CHECK(first.members == std::vector<std::uint32_t>{0, 4});
  CHECK(first.latencies == Intervals{{Seconds(2), Seconds(3)}, {Seconds(5), Seconds(6)}});
  under_way.begin(mark_of(OpKind::CollectiveBegin, 1), span_of(7, 8));
  const Collective again = under_way.end(mark_of(OpKind::CollectiveEnd, 1));
  CHECK(again.begin == Seconds(7));
  CHECK(again.members.empty());
}
