// Flows that share links. Each case gives the expected instants as a formula above the code.
#include "tests/replay/near.hpp"
#include "tests/replay/runs.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using test::near;
using test::replayed;
using test::Times;
using test::Wiring;
using test::Work;

constexpr double kGiga = 1e9;

LinkSpec link(double bandwidth, double latency, Duplex duplex = Duplex::Full, Sharing sharing = Sharing::Fair) {
  return {BytesPerSecond(bandwidth), Seconds(latency), duplex, sharing};
}

TEST_CASE("replay: a transfer alone takes latency + bytes/bandwidth") {
  const Platform platform = Wiring(2).connect(0, 1, link(25 * kGiga, 4e-6)).build();
  for (std::int64_t bytes = 1; bytes <= 1000000000000; bytes *= 10) {
    Work work(2);
    const OpId sent = work.send(0, 1, bytes);
    CAPTURE(bytes);
    CHECK(replayed(platform, work).at(sent).second == near(4e-6 + static_cast<double>(bytes) / 25e9));
  }
}

TEST_CASE("replay: a transfer alone after an odd instant, and without latency") {
  const Platform platform = Wiring(2).connect(0, 1, link(3 * kGiga, 0)).build();
  Work work(2);
  const OpId before = work.compute(0, 0.1 + 1.0 / 3.0);
  const OpId sent = work.send(0, 1, 7, {before});
  const Times times = replayed(platform, work);
  CHECK(times.at(sent).second - times.at(sent).first == near(7.0 / 3e9, 1e-6));  // of a date of 0.43 s, 1e-15 s
}

TEST_CASE("replay: no bytes take the latency alone") {
  const Platform platform = Wiring(2).connect(0, 1, link(kGiga, 4e-6)).build();
  Work work(2);
  const OpId empty = work.send(0, 1, 0);
  const OpId second = work.send(0, 1, 0, {empty});
  CHECK(replayed(platform, work).at(second).second == near(8e-6));
}

// Both start at 0, pay the latency l and then have b/2 each: n bytes need l + 2n/b. The longer one has b alone for the
// m - n bytes that it has left then: l + 2n/b + (m - n)/b.
TEST_CASE("replay: two flows on one link share it exactly") {
  const double b = 10 * kGiga;
  const double l = 5e-6;
  const Platform platform = Wiring(2).connect(0, 1, link(b, l)).build();
  Work work(2);
  const OpId shorter = work.send(0, 1, 1000000);
  const OpId longer = work.send(0, 1, 3000000);
  const Times times = replayed(platform, work);
  CHECK(times.at(shorter).second == near(l + 2e6 / b));
  CHECK(times.at(longer).second == near(l + 4e6 / b));
}

// The near flow starts at 1 us, the far one at 10 us; until then the near one has sent 9 us x b. The rest n - 9 us x b
// it sends at b/2, and the far one has sent as much; then the far one has b alone for what is left, 9 us x b.
TEST_CASE("replay: routes of 1 us and 10 us share fairly") {
  const double b = 50 * kGiga;
  Wiring wiring(3);
  const std::size_t shared = wiring.cable(link(b, 0));
  const std::size_t close = wiring.cable(link(1000 * kGiga, 1e-6));
  const std::size_t distant = wiring.cable(link(1000 * kGiga, 10e-6));
  const Platform platform = wiring.route(0, 2, {close, shared}).route(1, 2, {distant, shared}).build();
  Work work(3);
  const OpId near_flow = work.send(0, 2, 100000000);
  const OpId far_flow = work.send(1, 2, 100000000);
  const Times times = replayed(platform, work);
  const double near_end = 10e-6 + 2 * (1e8 - 9e-6 * b) / b;
  CHECK(times.at(near_flow).second == near(near_end));
  CHECK(times.at(far_flow).second == near(near_end + 9e-6));
}

// Three flows cross x, two of them y too, with x = 9 and y = 2: y gives 1 to each of its two, x's third gets 9 - 2 = 7.
TEST_CASE("replay: sharing is max-min fair over several links") {
  Wiring wiring(4);
  const std::size_t x = wiring.cable(link(9 * kGiga, 0));
  const std::size_t y = wiring.cable(link(2 * kGiga, 0));
  const Platform platform = wiring.route(0, 3, {x, y}).route(1, 3, {x, y}).route(2, 3, {x}).build();
  Work work(4);
  const OpId first = work.send(0, 3, 1000000000);
  const OpId second = work.send(1, 3, 1000000000);
  const OpId third = work.send(2, 3, 7000000000);
  const Times times = replayed(platform, work);
  for (OpId id : {first, second, third}) CHECK(times.at(id).second == near(1.0));
}

// Opposite flows of n bytes: a full-duplex link gives each of them b, a half-duplex one b/2.
TEST_CASE("replay: half and full duplex differ") {
  for (const Duplex duplex : {Duplex::Full, Duplex::Half}) {
    const Platform platform = Wiring(2).connect(0, 1, link(kGiga, 1e-6, duplex)).build();
    Work work(2);
    const OpId there = work.send(0, 1, 1000000);
    const OpId back = work.send(1, 0, 1000000);
    const Times times = replayed(platform, work);
    const double end = 1e-6 + (duplex == Duplex::Full ? 1e-3 : 2e-3);
    CHECK(times.at(there).second == near(end));
    CHECK(times.at(back).second == near(end));
  }
}

// A ring of n devices, v bytes: 2(n-1) steps of v/n bytes each over every edge. As n flows of 2(n-1)v/n bytes after a
// delay for the latencies of all steps but one: (2(n-1)-1) l + l + 2(n-1)v/(n b) = 2(n-1)(l + v/(n b)).
TEST_CASE("replay: an aggregated ring all-reduce takes its closed form") {
  const double b = 50 * kGiga;
  const double l = 4e-6;
  for (const std::uint32_t n : {2U, 3U, 8U, 64U}) {
    Wiring wiring(n);
    for (std::uint32_t i = 0; i < n; ++i) wiring.connect(i, (i + 1) % n, link(b, l));
    if (n == 2) wiring = Wiring(2).connect(0, 1, link(b, l));
    Work work(n);
    const double steps = 2.0 * (n - 1);
    const OpId latencies = work.delay((steps - 1) * l);
    const std::int64_t v = std::int64_t{n} * 1000000;
    for (std::uint32_t i = 0; i < n; ++i) work.send(i, (i + 1) % n, 2 * (std::int64_t{n} - 1) * v / n, {latencies});
    const Times times = replayed(wiring.build(), work);
    CAPTURE(n);
    for (const auto& [id, time] : times) {
      if (id != latencies) CHECK(time.second == near(steps * (l + 1e6 / b), 1e-9));
    }
  }
}

// Class 1 has b alone until 1 ms, rests while class 0 sends n bytes (l + n/b), and then sends what is left.
TEST_CASE("replay: swap gives way to boundary traffic and goes on afterwards") {
  const double b = kGiga;
  const double l = 1e-6;
  const Platform platform = Wiring(2).connect(0, 1, link(b, l)).build();
  Work work(2);
  const OpId swap = work.send(0, 1, 5000000, {}, 1);
  const OpId until = work.delay(1e-3);
  const OpId boundary = work.send(0, 1, 2000000, {until});
  const Times times = replayed(platform, work);
  CHECK(times.at(boundary).second == near(1e-3 + l + 2e-3));
  CHECK(times.at(swap).second == near(l + 5e-3 + (l + 2e-3)));
}

// A link of 1 GB/s has 15 GB to carry, so it is busy until 15 s: both activations share it until 2 s, the larger one
// has it until 11 s, and then the swap, which has begun before them in the second case.
TEST_CASE("replay: a swap that rests moves nothing, though flows beside it come and go") {
  const Platform platform = Wiring(2).connect(0, 1, link(kGiga, 0)).build();
  for (const double late : {0.0, 1.0}) {
    CAPTURE(late);
    Work work(2);
    const OpId swap = work.send(0, 1, 4'000'000'000, {}, 1);
    const OpId until = work.delay(late);
    const OpId large = work.send(0, 1, 10'000'000'000, {until});
    const OpId small = work.send(0, 1, 1'000'000'000, {until});
    const Times times = replayed(platform, work);
    CHECK(times.at(small).second == near(2 + late));
    CHECK(times.at(large).second == near(11 + late));
    CHECK(times.at(swap).second == near(15));
  }
}

// Swap that starts while boundary traffic is under way waits for its end; its latency passes meanwhile.
TEST_CASE("replay: swap that comes second waits, and other links do not matter to it") {
  const double b = kGiga;
  const double l = 1e-6;
  const Platform platform = Wiring(3).connect(0, 1, link(b, l)).connect(1, 2, link(b, l)).build();
  Work work(3);
  const OpId boundary = work.send(0, 1, 2000000);
  const OpId swap = work.send(0, 1, 1000000, {}, 1);
  const OpId elsewhere = work.send(1, 2, 1000000, {}, 1);
  const Times times = replayed(platform, work);
  CHECK(times.at(boundary).second == near(l + 2e-3));
  CHECK(times.at(swap).second == near(l + 2e-3 + 1e-3));
  CHECK(times.at(elsewhere).second == near(l + 1e-3));
}

}  // namespace
}  // namespace stagecraft
