// Replay against evaluate on random work: equal where no two flows share a fair link, never faster with a fixed order.
#include "tests/replay/pipelines.hpp"
#include "tests/replay/runs.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace stagecraft {
namespace {

using test::evaluated;
using test::replayed;
using test::Times;
using test::Wiring;
using test::Work;

using Random = std::mt19937;

std::uint32_t pick(Random& random, std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); }

/// Every pair of devices has a link of its own, with its own figures.
Platform random_mesh(Random& random, std::uint32_t devices, Duplex duplex, Sharing sharing) {
  Wiring wiring(devices);
  for (std::uint32_t a = 0; a < devices; ++a) {
    for (std::uint32_t b = a + 1; b < devices; ++b) {
      const double bandwidth = 1e9 * (1 + pick(random, 20));
      const double latency = 1e-6 * pick(random, 20);
      wiring.connect(a, b, {BytesPerSecond(bandwidth), Seconds(latency), duplex, sharing});
    }
  }
  return wiring.build();
}

/// Computations on random devices, each after a transfer from an earlier one. With `alone`, the transfers of one
/// direction of a link follow one another, so that no two flows ever share it.
Work random_work(Random& random, std::uint32_t devices, std::uint32_t computations, bool alone) {
  Work work(devices);
  struct Done {
    std::uint32_t device;
    OpId id;
  };
  std::vector<Done> done;
  std::vector<OpId> last_on(std::size_t{devices} * devices, OpId::none());
  for (std::uint32_t i = 0; i < computations; ++i) {
    const std::uint32_t device = pick(random, devices);
    const double seconds = 1e-5 * (1 + pick(random, 100));
    if (done.empty()) {
      done.push_back({device, work.compute(device, seconds)});
      continue;
    }
    const Done from = done[pick(random, static_cast<std::uint32_t>(done.size()))];
    OpId arrival = from.id;
    if (from.device != device) {
      OpId& last = last_on[std::size_t{from.device} * devices + device];
      arrival = work.send(from.device, device, pick(random, 4000000), {from.id});
      if (alone && !last.is_none()) work.graph().depend_on(last);
      last = arrival;
    }
    done.push_back({device, work.compute(device, seconds, {arrival})});
  }
  return work;
}

TEST_CASE("replay: equals evaluate where no flows share (seeds 1 to 60)") {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const std::uint32_t devices = 2 + pick(random, 5);
    const Platform platform = random_mesh(random, devices, Duplex::Full, Sharing::Fair);
    const Work work = random_work(random, devices, 40, true);
    const Times expected = evaluated(platform, work);
    const Times found = replayed(platform, work);
    CAPTURE(seed);
    REQUIRE(found.size() == expected.size());
    for (const auto& [id, time] : expected) {
      CHECK(found.at(id).first == doctest::Approx(time.first).epsilon(1e-9).scale(1e-9));
      CHECK(found.at(id).second == doctest::Approx(time.second).epsilon(1e-9).scale(1e-9));
    }
  }
}

// Exclusive links never share, whatever competes for them, and both engines serve in the same order.
TEST_CASE("replay: equals evaluate on exclusive links (seeds 101 to 140)") {
  for (std::uint32_t seed = 101; seed <= 140; ++seed) {
    Random random(seed);
    const std::uint32_t devices = 2 + pick(random, 4);
    const Duplex duplex = seed % 2 == 0 ? Duplex::Full : Duplex::Half;
    const Platform platform = random_mesh(random, devices, duplex, Sharing::Exclusive);
    const Work work = random_work(random, devices, 40, false);
    CAPTURE(seed);
    CHECK(replayed(platform, work) == evaluated(platform, work));
  }
}

TEST_CASE("replay: never faster than evaluate with a fixed order (seeds 201 to 240)") {
  std::uint32_t slower = 0;
  for (std::uint32_t seed = 201; seed <= 240; ++seed) {
    Random random(seed);
    const std::uint32_t devices = 3 + pick(random, 4);
    const Platform platform = test::star(devices, BytesPerSecond(1e9), Seconds(4e-6));
    const Work work = random_work(random, devices, 60, false);
    const Times least = evaluated(platform, work);
    const Times found = replayed(platform, work);
    CAPTURE(seed);
    bool is_slower = false;
    for (const auto& [id, time] : least) {
      CHECK(found.at(id).second >= time.second * (1.0 - 1e-9));
      is_slower = is_slower || found.at(id).second > time.second * (1.0 + 1e-6);
    }
    if (is_slower) ++slower;
  }
  CHECK(slower > 30);  // else nothing was shared and nothing was tested
}

// Without transfers in the way, (m + p - 1)(f + b).
TEST_CASE("replay: 1F1B without bytes or latency takes its closed form") {
  for (const std::uint32_t p : {1U, 2U, 3U, 4U, 8U}) {
    for (const std::uint32_t m : {1U, 2U, 4U, 7U, 16U}) {
      const test::OneFOneB pipeline{p, m, Seconds(0.01), Seconds(0.02), Bytes(0)};
      const Platform platform = test::star(p, BytesPerSecond(1e9), Seconds(0));
      ReplayOptions options;
      options.measurement = pipeline.measurement();
      const Report report = replay(platform, [&] { return test::source_of(pipeline); }, {}, options).report;
      CAPTURE(p);
      CAPTURE(m);
      CHECK(report.iterations.at(0).value() == doctest::Approx((m + p - 1) * 0.03).epsilon(1e-12).scale(1e-9));
    }
  }
}

}  // namespace
}  // namespace stagecraft
