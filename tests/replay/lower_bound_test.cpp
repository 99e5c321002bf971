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
#include <utility>

namespace stagecraft {
namespace {

using testing::BoundCase;
using Cause = BoundCause::Kind;

/// Nodes of up to three devices behind one card each, some of it for both directions.
Platform nodes_with_cards(std::mt19937& random, std::uint32_t devices) {
  PlatformSpec spec = testing::pairwise(devices).spec;
  const auto link = [&](double bandwidth) {
    return LinkSpec{BytesPerSecond(bandwidth), Seconds(0.001), random() % 3 == 0 ? Duplex::Half : Duplex::Full,
                    Sharing::Fair};
  };
  NodeForm form;
  const auto each = static_cast<std::uint32_t>(1 + random() % 3);
  const Interconnect inside{SwitchedNode{}, link(1e9)};
  form.node_kinds.push_back({"node", DeviceKindId(0), each, inside, std::nullopt, NicSpec{link(2e8), false}});
  form.groups.push_back({NodeKindId(0), (devices + each - 1) / each});
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

}  // namespace
}  // namespace stagecraft
