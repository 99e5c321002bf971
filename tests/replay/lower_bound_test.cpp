// Replays of random plans, in which transfers share links, against the bounds of the plans.

#include "sim/analytic/lower_bound.hpp"

#include "sim/replay/replay_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/analytic/bound_cases.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

using testing::BoundCase;
using Cause = BoundCause::Kind;

/// Nodes of up to three devices behind one card each, some of it for both directions, some for one transfer at a time.
Platform nodes_with_cards(std::mt19937& random, std::uint32_t devices) {
  PlatformSpec spec = testing::pairwise(devices).spec;
  const bool may_be_exclusive = random() % 2 == 0;
  const auto link = [&](double bandwidth) {
    const Duplex duplex = random() % 3 == 0 ? Duplex::Half : Duplex::Full;
    const bool is_exclusive = may_be_exclusive && random() % 2 == 0;
    return LinkSpec{BytesPerSecond(bandwidth), Seconds(0.001), duplex,
                    is_exclusive ? Sharing::Exclusive : Sharing::Fair};
  };
  NodeForm form;
  const auto each = static_cast<std::uint32_t>(1 + random() % 3);
  for (std::uint32_t node = 0; node * each < devices; ++node) {
    const Interconnect inside{SwitchedNode{}, link(1e9)};
    form.node_kinds.push_back(
        {"node" + std::to_string(node), DeviceKindId(0), each, inside, std::nullopt, NicSpec{link(2e8), false}});
    form.groups.push_back({NodeKindId(node), 1});
  }
  spec.form = std::move(form);
  return build_platform(std::move(spec));
}

/// A plan of devices that share cards.
BoundCase sharing_case(std::uint32_t seed) {
  std::mt19937 random(seed);
  BoundCase made;
  made.random = testing::random_case(seed, {Sharing::Fair, true, false, 8.0});
  made.random.graph.microbatch_size = made.random.plan.microbatch_size = 8;  // its parts are unequal
  made.random.platform = nodes_with_cards(random, static_cast<std::uint32_t>(made.random.platform.devices.size()));
  return made;
}

bool is_period(const BoundCase& of) { return of.family() == "pipedream" || of.family() == "1f1b-star"; }

/// Whether there was a bound and a time. `decides` gets what decides the bound.
bool compare(const BoundCase& of, Cause& decides) {
  const auto& [graph, platform, plan] = of.random;
  const auto bound = lower_bound(graph, platform, require_schedule(graph, platform, plan), {of.options, true});
  const Report report = replay_plan(graph, platform, plan, of.options, of.events).report;
  if (!bound || (report.period && !report.converged())) return false;
  decides = bound->cause.kind;
  const Seconds time = report.period ? *report.period : report.iterations.back();
  // Two windows of a period agree to 0.1 %.
  CHECK(bound->time.value() <= time.value() * (1 + (is_period(of) ? 1e-3 : 1e-9)));
  return true;
}

TEST_CASE("lower bound: no replay of 400 random plans is below its bound") {
  int compared = 0;
  int by_links = 0;
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    const BoundCase made = seed % 2 == 0 ? sharing_case(seed) : testing::BoundCases::make(seed);
    CAPTURE(made.family());
    Cause cause{};
    if (!compare(made, cause)) continue;
    ++compared;
    by_links += cause == Cause::Link ? 1 : 0;
  }
  CHECK(compared > 250);
  CHECK(by_links > 20);
}

// What they exchange takes most of the time.
TEST_CASE("lower bound: no all-reduce over cards that share and cards that take turns ends before it") {
  int by_links = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    BoundCase made;
    auto& [graph, platform, plan] = made.random;
    const auto devices = static_cast<std::uint32_t>(3 + random() % 4);
    graph = testing::chain(2, 0.5, 1.0, 0, 0, 500'000'000);
    plan = testing::straight(1, devices, "1f1b");
    plan.stages[0].layers = {LayerId(0), LayerId(1)};
    platform = nodes_with_cards(random, devices);
    plan.stages[0].replicas.clear();
    for (const DeviceId device : indices(platform.devices)) plan.stages[0].replicas.push_back({device});
    Cause cause{};
    if (compare(made, cause) && cause == Cause::Link) ++by_links;
  }
  CHECK(by_links > 50);
}

}  // namespace
}  // namespace stagecraft
