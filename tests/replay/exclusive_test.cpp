// Exclusive links (docs/reference/formats/platform.md): a transfer holds all of them on its route for latency +
// bytes/bandwidth.
#include "tests/replay/near.hpp"
#include "tests/replay/runs.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using test::evaluated;
using test::near;
using test::replayed;
using test::Times;
using test::Wiring;
using test::Work;

LinkSpec exclusive(double bandwidth, double latency) {
  return {BytesPerSecond(bandwidth), Seconds(latency), Duplex::Full, Sharing::Exclusive};
}
LinkSpec fair_link(double bandwidth, double latency) {
  return {BytesPerSecond(bandwidth), Seconds(latency), Duplex::Full, Sharing::Fair};
}

// d = l + n/b each. Ready at 0 (in order of id), then the one that became ready at d/2, though its id is smaller.
TEST_CASE("replay: an exclusive link serves in order of ready time, then id") {
  const double d = 1e-6 + 1e-3;
  const Platform platform = Wiring(2).connect(0, 1, exclusive(1e9, 1e-6)).build();
  Work work(2);
  const OpId half = work.delay(d / 2);
  const OpId late = work.send(0, 1, 1000000, {half});
  const OpId first = work.send(0, 1, 1000000);
  const OpId second = work.send(0, 1, 1000000);
  const Times times = replayed(platform, work);
  CHECK(times.at(first).first == near(0.0));
  CHECK(times.at(first).second == near(d));
  CHECK(times.at(second).first == near(d));
  CHECK(times.at(late).first == near(2 * d));
  CHECK(times.at(late).second == near(3 * d));
  CHECK(times == evaluated(platform, work));
}

// 0.1 + 0.2 and 0.3 differ by one unit in the last place. Both transfers are ready at that instant, so the id decides.
TEST_CASE("replay: transfers that become ready at dates that differ by rounding are served in the order of their ids") {
  const double sum = 0.1 + 0.2;
  REQUIRE(sum > 0.3);
  Wiring wiring(3);
  const std::size_t cable = wiring.cable(exclusive(1e9, 0));
  const Platform platform = wiring.route(0, 2, {cable}).route(1, 2, {cable}).build();
  for (const bool first_is_later : {true, false}) {
    Work work(3);
    const OpId exact = work.delay(0.3);
    const OpId tenth = work.delay(0.1);
    const OpId rounded = work.delay(0.2, {tenth});
    const OpId one = work.send(0, 2, 1000000, {first_is_later ? rounded : exact});
    const OpId two = work.send(1, 2, 1000000, {first_is_later ? exact : rounded});
    const Times times = replayed(platform, work);
    CHECK(times.at(one).first == near(0.3));
    CHECK(times.at(two).first == near(0.301));
    CHECK(times == evaluated(platform, work));
  }
}

// x is crossed at 0 for 2 ms by the first. The second needs x and y and waits for x; the third needs y alone and is
// served at once, since a transfer that waits holds nothing; the second starts when both are free, at 3 ms.
TEST_CASE("replay: a transfer takes all its exclusive links at once") {
  Wiring wiring(4);
  const std::size_t x = wiring.cable(exclusive(1e9, 0));
  const std::size_t y = wiring.cable(exclusive(1e9, 0));
  const Platform platform = wiring.route(0, 1, {x}).route(0, 2, {x, y}).route(0, 3, {y}).build();
  Work work(4);
  const OpId first = work.send(0, 1, 2000000);
  const OpId second = work.send(0, 2, 1000000);
  const OpId third = work.send(0, 3, 3000000);
  const Times times = replayed(platform, work);
  CHECK(times.at(first).second == near(2e-3));
  CHECK(times.at(third).first == near(0.0));
  CHECK(times.at(third).second == near(3e-3));
  CHECK(times.at(second).first == near(3e-3));
  CHECK(times.at(second).second == near(4e-3));
  CHECK(times == evaluated(platform, work));
}

// Two routes with an exclusive link each and one fair link in common. Exclusive at 1, fair at 3: each flow is bounded
// by its own link. Exclusive at 10, fair at 3: each has half of the fair one.
TEST_CASE("replay: on a mixed route the exclusive link bounds and the fair one is shared") {
  for (const double bandwidth : {1e9, 10e9}) {
    Wiring wiring(4);
    const std::size_t a = wiring.cable(exclusive(bandwidth, 0));
    const std::size_t b = wiring.cable(exclusive(bandwidth, 0));
    const std::size_t common = wiring.cable(fair_link(3e9, 0));
    const Platform platform = wiring.route(0, 2, {a, common}).route(1, 3, {b, common}).build();
    Work work(4);
    const OpId one = work.send(0, 2, 3000000);
    const OpId two = work.send(1, 3, 3000000);
    const Times times = replayed(platform, work);
    const double end = bandwidth == 1e9 ? 3e-3 : 2e-3;
    CHECK(times.at(one).second == near(end));
    CHECK(times.at(two).second == near(end));
  }
}

// The first holds its exclusive link while it shares the fair one: it ends at 2n/(b/2 ...): both flows of n bytes have
// b/2, so at 2n/b; the third, which waits for the exclusive link, then has the fair link alone: 3n/b.
TEST_CASE("replay: an exclusive link stays held while its transfer is slowed by sharing") {
  Wiring wiring(3);
  const std::size_t own = wiring.cable(exclusive(100e9, 0));
  const std::size_t common = wiring.cable(fair_link(1e9, 0));
  const Platform platform = wiring.route(0, 2, {own, common}).route(1, 2, {common}).build();
  Work work(3);
  const OpId first = work.send(0, 2, 1000000);
  const OpId other = work.send(1, 2, 1000000);
  const OpId third = work.send(0, 2, 1000000);
  const Times times = replayed(platform, work);
  CHECK(times.at(first).second == near(2e-3));
  CHECK(times.at(other).second == near(2e-3));
  CHECK(times.at(third).first == near(2e-3));
  CHECK(times.at(third).second == near(3e-3));
}

}  // namespace
}  // namespace stagecraft
