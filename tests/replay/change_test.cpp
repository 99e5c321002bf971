// Changes during a run, with values worked out by hand.
#include "tests/replay/near.hpp"
#include "tests/replay/runs.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace stagecraft {
namespace {

using test::evaluated;
using test::near;
using test::replayed;
using test::Times;
using test::Wiring;
using test::Work;

LinkSpec fair(double bandwidth, double latency) { return {BytesPerSecond(bandwidth), Seconds(latency)}; }
Event at(double seconds, decltype(Event::change) change) { return {Seconds(seconds), std::nullopt, change}; }

Platform pair(double bandwidth, double latency) { return Wiring(2).connect(0, 1, fair(bandwidth, latency)).build(); }

// 200 MB at 1e8 B/s after 1 ms: until 1 s, 0.999 s x 1e8 = 99.9 MB have gone, and 100.1 MB are left.
TEST_CASE("replay: a link's bandwidth falls and rises during a flow") {
  const Platform platform = pair(1e8, 1e-3);
  Work work(2);
  const OpId sent = work.send(0, 1, 200000000);
  for (const double bandwidth : {0.5e8, 2e8, 100e8}) {
    const Events events = {at(1.0, BandwidthChange{LinkId(0), BytesPerSecond(bandwidth)})};
    CAPTURE(bandwidth);
    CHECK(replayed(platform, work, events).at(sent).second == near(1.0 + 100.1e6 / bandwidth));
    CHECK(evaluated(platform, work, events).at(sent).second == near(1.0 + 100.1e6 / bandwidth));
  }
}

// Two flows at b/2 each until 1 s send 0.5e8 each; then the link carries 4e8, 2e8 for each, for 1.5e8 and 3.5e8 left:
// the first ends at 1.75, and the other has 2e8 left for 4e8: 0.5 s more.
TEST_CASE("replay: shared flows follow a change of bandwidth together") {
  const Platform platform = pair(1e8, 0);
  Work work(2);
  const OpId shorter = work.send(0, 1, 200000000);
  const OpId longer = work.send(0, 1, 400000000);
  const Times times = replayed(platform, work, {at(1.0, BandwidthChange{LinkId(0), BytesPerSecond(4e8)})});
  CHECK(times.at(shorter).second == near(1.75));
  CHECK(times.at(longer).second == near(2.25));
}

TEST_CASE("replay: a change of bandwidth holds for transfers that come later, exclusive links included") {
  for (const Sharing sharing : {Sharing::Fair, Sharing::Exclusive}) {
    LinkSpec link = fair(1e8, 0);
    link.sharing = sharing;
    const Platform platform = Wiring(2).connect(0, 1, link).build();
    Work work(2);
    const OpId before = work.send(0, 1, 150000000);
    const OpId after = work.send(0, 1, 100000000, {before});
    const Events events = {at(1.0, BandwidthChange{LinkId(0), BytesPerSecond(2e8)})};
    const Times times = replayed(platform, work, events);
    CHECK(times.at(before).second == near(1.25));
    CHECK(times.at(after).second == near(1.75));
  }
}

// The route is first used after the change, together with a flow that was there before it.
TEST_CASE("replay: a change of bandwidth holds for routes that come into use later") {
  Wiring wiring(3);
  const std::size_t cable = wiring.cable(fair(1e8, 0));
  const std::size_t other = wiring.cable(fair(1e9, 0));
  const Platform platform = wiring.route(0, 2, {other}).route(1, 2, {other, cable}).build();
  Work work(3);
  const OpId early = work.send(0, 2, 1000000000);
  const OpId until = work.delay(0.5);
  const OpId late = work.send(1, 2, 100000000, {until});
  // The cable carries 2e8 from 0.25 s on: the late flow takes 0.5 s, the early one loses as much of its 1e9 B/s.
  const LinkId changed(0);
  const Times times = replayed(platform, work, {at(0.25, BandwidthChange{changed, BytesPerSecond(2e8)})});
  CHECK(times.at(late).second == near(1.0));
  CHECK(times.at(early).second == near(1.1));
}

// 4 s of work: 1 s done at speed 1, 3 s left take 6 s at half speed.
TEST_CASE("replay: a device slows down in the midst of a computation") {
  const Platform platform = pair(1e9, 0);
  Work work(2);
  const OpId first = work.compute(0, 4.0);
  const OpId second = work.compute(0, 1.0);
  const Events events = {at(1.0, Slowdown{DeviceId(0), 2.0})};
  const Times times = replayed(platform, work, events);
  CHECK(times.at(first).second == near(7.0));
  CHECK(times.at(second).second == near(9.0));
  CHECK(times == evaluated(platform, work, events));
}

// The computation under way at 1 s and the transfer that has sent a part are aborted, and both start again at 1.5 s.
TEST_CASE("replay: what a failure aborts is done again") {
  const Platform platform = pair(1e8, 1e-3);
  Work work(2);
  const OpId computed = work.compute(0, 3.0);
  const OpId sent = work.send(0, 1, 200000000);
  const OpId untouched = work.compute(1, 3.0);
  const Events events = {at(1.0, Failure{DeviceId(0), Seconds(0.5)})};
  const OpGraph graph = work.finished();
  const ReplayOutcome outcome = replay(platform, [&] { return single_window(graph); }, events, test::with_timeline());
  const Times times = test::times_of(outcome.record.timeline);
  CHECK(times.at(computed).first == near(1.5));
  CHECK(times.at(computed).second == near(4.5));
  CHECK(times.at(sent).first == near(1.5));
  CHECK(times.at(sent).second == near(1.5 + 1e-3 + 2.0));
  CHECK(times.at(untouched).second == near(3.0));
  std::vector<TimelineEntry> aborted;
  for (const TimelineEntry& entry : outcome.record.timeline) {
    if (entry.aborted) aborted.push_back(entry);
  }
  REQUIRE(aborted.size() == 2);
  for (const TimelineEntry& entry : aborted) CHECK(entry.end.value() == near(1.0));
}

// Two flows share until the failure at 1 s (0.5e8 each); the survivor has 1.5e8 left and the link alone until 2 s, when
// the other starts again: 0.5e8 left at b/2 take 1 s, and then the other, 0.5e8 of its 2e8 sent, has b alone.
TEST_CASE("replay: an aborted flow leaves its share to the others") {
  Wiring wiring(3);
  const std::size_t cable = wiring.cable(fair(1e8, 0));
  const Platform platform = wiring.route(0, 2, {cable}).route(1, 2, {cable}).build();
  Work work(3);
  const OpId survivor = work.send(0, 2, 200000000);
  const OpId aborted = work.send(1, 2, 200000000);
  const Times times = replayed(platform, work, {at(1.0, Failure{DeviceId(1), Seconds(1.0)})});
  CHECK(times.at(survivor).second == near(3.0));
  CHECK(times.at(aborted).first == near(2.0));
  CHECK(times.at(aborted).second == near(4.5));
}

// In its latency at the failure, and at rest behind another: the two other states a transfer can be aborted in.
TEST_CASE("replay: a transfer that does not flow yet is aborted too") {
  const Platform platform = pair(1e8, 0.5);
  Work work(2);
  const OpId sent = work.send(0, 1, 100000000);
  const OpId swap = work.send(0, 1, 100000000, {}, 1);
  const Times times = replayed(platform, work, {at(0.25, Failure{DeviceId(0), Seconds(0.25)})});
  CHECK(times.at(sent).second == near(0.5 + 0.5 + 1.0));
  CHECK(times.at(swap).second == near(0.5 + 0.5 + 2.0));
}

Event link_failure(double seconds, std::uint32_t link, double duration) {
  return at(seconds, LinkFailure{LinkId(link), Seconds(duration)});
}

// 200 MB at 1e8 B/s after 0.5 s: 2.5 s, and as much later as the link is down from its start to its end.
TEST_CASE("replay: a transfer ends as much later as its link has failed, in its latency and in its bytes") {
  const Platform platform = pair(1e8, 0.5);
  Work work(2);
  const OpId sent = work.send(0, 1, 200000000);
  const OpId computed = work.compute(0, 4.0, {sent});
  const auto both_end = [&](const Events& events, double end) {
    CHECK(replayed(platform, work, events).at(sent).second == near(end));
    CHECK(evaluated(platform, work, events).at(sent).second == near(end));
    CHECK(replayed(platform, work, events).at(computed).second == near(end + 4.0));
  };
  both_end({link_failure(1.0, 0, 0.75)}, 3.25);
  both_end({link_failure(0.25, 0, 0.125)}, 2.625);                        // in its latency
  both_end({link_failure(0.25, 0, 4.0)}, 6.5);                            // for longer than its latency
  both_end({link_failure(0.0, 0, 1.0)}, 3.5);                             // from its start
  both_end({link_failure(2.5, 0, 1.0)}, 2.5);                             // too late
  both_end({link_failure(1.0, 1, 1.0)}, 2.5);                             // the other direction
  both_end({link_failure(1.0, 0, 0.0)}, 2.5);                             // for no time
  both_end({link_failure(1.0, 0, 1.0), link_failure(3.0, 0, 1.0)}, 4.5);  // twice
  both_end({link_failure(1.0, 0, 1.0), link_failure(1.5, 0, 2.0)}, 5.0);  // two that overlap: until 3.5
  both_end({link_failure(1.0, 0, 3.0), link_failure(1.5, 0, 1.0)}, 5.5);  // one within the other
}

// At 1.5 s, 150 MB are left.
TEST_CASE("replay: a link that is back has the bandwidth that it got meanwhile") {
  const Platform platform = pair(1e8, 1.0);
  Work work(2);
  const OpId sent = work.send(0, 1, 200000000);
  const Events events = {link_failure(1.5, 0, 2.0), at(2.0, BandwidthChange{LinkId(0), BytesPerSecond(3e8)})};
  CHECK(replayed(platform, work, events).at(sent).second == near(3.5 + 0.5));
  CHECK(evaluated(platform, work, events).at(sent).second == near(3.5 + 0.5));
}

TEST_CASE("replay: what starts while its link is down waits until it is back, with 0 bytes too") {
  const Platform platform = pair(1e8, 0.5);
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{100000000}}) {
    Work work(2);
    const OpId until = work.delay(1.5);
    const OpId sent = work.send(0, 1, bytes, {until});
    const OpId under_way = work.send(1, 0, bytes, {work.delay(0.75)});
    const Events events = {link_failure(1.0, 0, 3.0), link_failure(1.0, 1, 3.0)};
    const double seconds = static_cast<double>(bytes) / 1e8;
    for (const Times& times : {replayed(platform, work, events), evaluated(platform, work, events)}) {
      CHECK(times.at(sent).second == near(4.0 + 0.5 + seconds));
      CHECK(times.at(under_way).second == near(0.75 + 0.5 + seconds + 3.0));
    }
  }
}

// Both share the first link, 0.5e8 B/s each, until 1 s. While the second is down, the one that stays has 1e8 B/s: its
// 1.5e8 are gone at 2.5 s. The other goes on at 4 s with 1.5e8 for a whole link.
TEST_CASE("replay: a transfer that a link stops leaves its share of other links to the others") {
  Wiring wiring(3);
  const std::size_t shared = wiring.cable(fair(1e8, 0));
  const std::size_t failing = wiring.cable(fair(4e8, 0));
  const Platform platform = wiring.route(0, 1, {shared}).route(0, 2, {shared, failing}).build();
  Work work(3);
  const OpId stays = work.send(0, 1, 200000000);
  const OpId stopped = work.send(0, 2, 200000000);
  const Times times = replayed(platform, work, {link_failure(1.0, 2, 3.0)});
  CHECK(times.at(stays).second == near(2.5));
  CHECK(times.at(stopped).second == near(4.0 + 1.5));
}

// A stopped transfer of class 0 does not make one of class 1 rest; it does so again when it goes on.
TEST_CASE("replay: a transfer that a link stops does not hold up a larger class") {
  Wiring wiring(3);
  const std::size_t shared = wiring.cable(fair(1e8, 0));
  const std::size_t failing = wiring.cable(fair(4e8, 0));
  const Platform platform = wiring.route(0, 1, {shared}).route(0, 2, {shared, failing}).build();
  Work work(3);
  const OpId swap = work.send(0, 1, 300000000, {}, 1);
  const OpId stopped = work.send(0, 2, 200000000);
  const Times times = replayed(platform, work, {link_failure(1.0, 2, 1.0)});
  CHECK(times.at(stopped).second == near(3.0));
  CHECK(times.at(swap).second == near(1.0 + 3.0 + 1.0));  // it moves from 1 to 2 s, and from 3 s on
}

TEST_CASE("replay: an exclusive link that fails stays taken by the transfer under way") {
  LinkSpec link = fair(1e8, 0.25);
  link.sharing = Sharing::Exclusive;
  const Platform platform = Wiring(2).connect(0, 1, link).build();
  Work work(2);
  const OpId under_way = work.send(0, 1, 150000000);
  const OpId waits = work.send(0, 1, 100000000);
  const Events events = {link_failure(1.0, 0, 2.0)};
  for (const Times& times : {replayed(platform, work, events), evaluated(platform, work, events)}) {
    CHECK(times.at(under_way).second == near(1.75 + 2.0));
    CHECK(times.at(waits).first == near(3.75));
    CHECK(times.at(waits).second == near(3.75 + 1.25));
  }
}

// The sender fails while the link is down: the transfer starts anew, when both are back.
TEST_CASE("replay: a transfer that a link stops is aborted by a failure of its device") {
  const Platform platform = pair(1e8, 0.0);
  Work work(2);
  const OpId sent = work.send(0, 1, 200000000);
  const Events events = {link_failure(1.0, 0, 3.0), at(2.0, Failure{DeviceId(0), Seconds(1.0)})};
  for (const Times& times : {replayed(platform, work, events), evaluated(platform, work, events)}) {
    CHECK(times.at(sent).first == near(3.0));
    CHECK(times.at(sent).second == near(4.0 + 2.0));
  }
}

}  // namespace
}  // namespace stagecraft
