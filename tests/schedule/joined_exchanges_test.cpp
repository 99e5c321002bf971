#include "sim/schedule/joined_exchanges.hpp"

#include "sim/schedule/exchange_phases.hpp"
#include "sim/schedule/exchange_time.hpp"
#include "sim/schedule/flow_times.hpp"
#include "tests/model/grouped_clusters.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/all_reduce_runs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace stagecraft::joined_exchanges_test {
namespace {

using Algorithm = CollectiveSpec::Algorithm;
using Kind = Exchange::Kind;

std::vector<Exchange> random_exchanges(std::mt19937& random) {
  std::vector<Exchange> exchanges;
  for (std::size_t i = 0; i <= random() % 4; ++i) {
    Exchange exchange;
    exchange.kind =
        std::array{Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather, Kind::AllToAll, Kind::Shift}[random() % 5];
    exchange.bytes = Bytes(static_cast<std::int64_t>(std::uint64_t{1} << (random() % 30)) + 17);
    exchange.count = 1 + static_cast<std::int64_t>(random() % 3);
    exchange.hidden = random() % 5 == 0;
    exchange.among =
        std::array{Exchange::Among::Tensor, Exchange::Among::Context, Exchange::Among::Expert}[random() % 3];
    add_exchange(exchanges, exchange);
  }
  return exchanges;
}

/// Degrees of a group of so many devices.
Degrees random_degrees(std::int64_t size, std::mt19937& random) {
  const std::int64_t half = size % 2 == 0 ? 2 : size;
  const std::array choices{Degrees{.tensor = size}, Degrees{.context = size}, Degrees{.expert = size},
                           Degrees{.tensor = half, .context = size / half, .expert = size}};
  return choices[random() % choices.size()];
}

Seconds time_of(const std::vector<ExchangedPhase>& phases) {
  Seconds time;
  for (const ExchangedPhase& phase : phases) {
    time += phase.latency + std::ranges::max_element(phase.flows, {}, &ExchangedBytes::seconds)->seconds;
  }
  return time;
}

TEST_CASE("joined exchanges: on random clusters as long as the exchanges one after the other, with their bytes") {
  test::GroupedClusters clusters(11);
  std::mt19937 random(11);
  int hierarchical = 0;
  const int rounds = testing::draws_all() ? 900 : 180;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const std::uint32_t size = clusters.count(2, 4);
    const Degrees degrees = random_degrees(size, random);
    PlatformSpec spec = test::built(clusters.next(size)).spec;
    spec.collectives.algorithm = std::array{Algorithm::Auto, Algorithm::Ring, Algorithm::Hierarchical}[random() % 3];
    spec.collectives.efficiency = 0.75;
    if (round % 3 == 0) spec.collectives.latency = Seconds(1e-4);
    const Platform whole = build_platform(std::move(spec));
    for (const Group& group : platform_of_groups(whole, size, true).groups) {
      const std::vector<Exchange> exchanges = random_exchanges(random);
      const std::vector<ExchangedPhase> phases = joined_exchanges(whole, group, degrees, exchanges);
      if (phases.size() > 1) ++hierarchical;
      ExchangeClock clock(whole, group, degrees);
      CHECK(time_of(phases).value() == doctest::Approx(clock.time(exchanges).value()).epsilon(1e-12));
      Bytes joined;
      for (const ExchangedPhase& phase : phases) {
        for (const ExchangedBytes& flow : phase.flows) joined += flow.bytes;
      }
      Bytes apart;
      std::int64_t flows = 0;
      for (const Exchange& exchange : exchanges) {
        if (exchange.hidden) continue;
        const MemberRings sets = exchanging(group, degrees, exchange.among);
        if (sets.front().size() < 2) continue;
        for (const AllReducePhase& phase : exchange_phases(whole, sets, exchange.kind, exchange.bytes).phases) {
          for (const AllReduceFlow& flow : phase.flows) {
            apart += flow_bytes(whole, flow, Bytes(0), exchange.bytes) * exchange.count;
            flows += exchange.count;
          }
        }
      }
      CHECK((joined <= apart && apart - joined <= Bytes(2 * flows)));  // each flow is rounded up
    }
  }
  CHECK(hierarchical > rounds / 90);
}

TEST_CASE("joined exchanges: what ends under a computation is left out, and so is its part of the time") {
  const Platform platform =
      test::built(test::nodes_of(1, 2, Interconnect{SwitchedNode{}, test::link_of(25e9, 1e-6)}, SwitchedNetwork{}));
  Group group;
  group.devices = all_reduce_test::devices_of(platform);
  const Degrees degrees{.context = 2};
  Exchange step{.kind = Kind::Shift, .bytes = Bytes(25'000'000), .count = 3, .among = Exchange::Among::Context};
  const double alone = 2e-6 + 1e-3;  // of one step
  CHECK(time_of(joined_exchanges(platform, group, degrees, {step})).value() == doctest::Approx(3 * alone));
  step.beside = Seconds(4e-4);
  CHECK(time_of(joined_exchanges(platform, group, degrees, {step})).value() == doctest::Approx(3 * (alone - 4e-4)));
  step.beside = Seconds(2e-3);
  CHECK(joined_exchanges(platform, group, degrees, {step}).empty());
}

TEST_CASE("joined exchanges: what products hide takes no time and loads no link") {
  PlatformSpec spec =
      test::built(test::nodes_of(1, 4, Interconnect{SwitchedNode{}, test::link_of(25e9, 1e-6)}, SwitchedNetwork{}))
          .spec;
  spec.collectives.latency = Seconds(1e-4);
  spec.collectives.overlap = 0.75;
  const Platform platform = build_platform(spec);
  Group group;
  group.devices = all_reduce_test::devices_of(platform);
  const Degrees degrees{.tensor = 4};
  const std::vector<Exchange> exchanges{{Kind::AllGather, Bytes(100'000'000), 2}, {Kind::AllReduce, Bytes(40'000'000)}};
  const std::vector<ExchangedPhase> phases = joined_exchanges(platform, group, degrees, exchanges);
  CHECK(time_of(phases).value() ==
        doctest::Approx(ExchangeClock(platform, group, degrees).time(exchanges).value()).epsilon(1e-9));
  Bytes sent;
  for (const ExchangedPhase& phase : phases) {
    for (const ExchangedBytes& flow : phase.flows) sent += flow.bytes;
  }
  // Four members send 3/4 of each gathered tensor, of which a quarter is left, and 6/4 of the summed one.
  CHECK(sent == Bytes(4 * (2 * 75'000'000 / 4 + 60'000'000)));
  spec.collectives.overlap = 1.0;
  CHECK(joined_exchanges(build_platform(spec), group, degrees, {exchanges.front()}).empty());
}

TEST_CASE("joined exchanges: nothing but hidden ones is nothing") {
  const Platform platform =
      test::built(test::nodes_of(1, 2, Interconnect{SwitchedNode{}, test::link_of(25e9, 1e-6)}, SwitchedNetwork{}));
  Group group;
  group.devices = all_reduce_test::devices_of(platform);
  CHECK(joined_exchanges(platform, group, {.tensor = std::ssize(group.devices)},
                         {{Kind::AllGather, Bytes(1 << 20), 1, true}})
            .empty());
}

}  // namespace
}  // namespace stagecraft::joined_exchanges_test
