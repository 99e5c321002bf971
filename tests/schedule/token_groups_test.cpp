#include "sim/analytic/evaluate_plan.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <variant>

// Groups whose members divide tokens or experts hold the same parameters on several devices.

namespace stagecraft::token_groups_test {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

constexpr double kLatency = 0.01;

struct Case {
  LayerGraph graph;
  Platform platform;
  Plan plan;
};

/// Four layers of 250 MB on one stage of so many replicas, each a group. Every pair of devices has a link of 1 GB/s.
Case one_stage(const Degrees& degrees, std::int64_t replicas, std::int64_t microbatches) {
  Case one{chain(4, 1, 2, 0, 0, 250'000'000),
           pairwise(static_cast<std::size_t>(degrees.devices() * replicas), 1e9, kLatency),
           straight(1, microbatches, "1f1b")};
  one.graph.degrees = one.plan.degrees = degrees;
  one.graph.copies = copies_in(degrees);
  Stage& stage = one.plan.stages[0];
  stage.layers.clear();
  for (const LayerId id : indices(one.graph.layers)) stage.layers.push_back(id);
  stage.replicas.clear();
  std::uint32_t next = 0;
  for (std::int64_t i = 0; i < replicas; ++i) {
    Group& group = stage.replicas.emplace_back();
    group.devices.clear();
    while (std::ssize(group.devices) < degrees.devices()) group.devices.emplace_back(next++);
  }
  return one;
}

Report report_of(const Case& one) {
  CHECK(check_plan(one.graph, one.platform, one.plan).empty());
  return evaluate_plan(one.graph, one.platform, one.plan);
}

double time_of(const Case& one) { return report_of(one).iterations.back().value(); }

/// An all-reduce of so many gigabytes among so many devices.
double all_reduce(double devices, double gigabytes) { return 2 * (devices - 1) * (kLatency + gigabytes / devices); }

TEST_CASE("token groups: all devices with the same weights are in one ring of gradients") {
  CHECK(time_of(one_stage({.context = 2}, 1, 3)) == doctest::Approx(36 + all_reduce(2, 1)).epsilon(1e-9));
  CHECK(time_of(one_stage({.context = 2}, 3, 9)) == doctest::Approx(36 + all_reduce(6, 1)).epsilon(1e-9));
  CHECK(time_of(one_stage({.tensor = 2, .context = 2}, 3, 9)) == doctest::Approx(36 + all_reduce(6, 1)).epsilon(1e-9));
  CHECK(time_of(one_stage({.tensor = 2}, 1, 3)) == doctest::Approx(36).epsilon(1e-9));
}

TEST_CASE("token groups: experts are in rings of their own, after the rest of their bucket") {
  const auto with_experts = [](const Degrees& degrees, std::int64_t replicas) {
    Case one = one_stage(degrees, replicas, 3 * replicas);
    one.graph.layers[LayerId(1)].experts = one.graph.layers[LayerId(3)].experts = Bytes(200'000'000);
    return one;
  };
  // Four ranks with samples of their own, each of which has a fourth of the experts.
  CHECK(time_of(with_experts({.expert = 4}, 1)) == doctest::Approx(36 + all_reduce(4, 0.6)).epsilon(1e-9));
  CHECK(time_of(with_experts({.expert = 4}, 2)) ==
        doctest::Approx(36 + all_reduce(8, 0.6) + all_reduce(2, 0.4)).epsilon(1e-9));
  // Four tensor ranks: the experts of a half of them are those of the other half.
  CHECK(time_of(with_experts({.tensor = 4, .expert = 2}, 1)) == doctest::Approx(36 + all_reduce(2, 0.4)).epsilon(1e-9));
  CHECK(time_of(with_experts({.tensor = 4, .expert = 4}, 2)) == doctest::Approx(36 + all_reduce(2, 1)).epsilon(1e-9));
  // In buckets of two layers the second half of the gradients is summed up under the backward of the first.
  Case in_buckets = with_experts({.expert = 4}, 2);
  in_buckets.plan.training.gradient_bucket = Bytes(500'000'000);
  const double each = all_reduce(8, 0.3) + all_reduce(2, 0.2);
  CHECK(each < 4.0);
  CHECK(time_of(in_buckets) == doctest::Approx(36 + each).epsilon(1e-9));
  in_buckets.plan.training.zero = 1;  // gathers: each half of a forward waits for its own
  CHECK(time_of(in_buckets) == doctest::Approx(36 + each / 2 + each / 2).epsilon(1e-9));
}

TEST_CASE("token groups: optimizer state is divided by all that hold it, that of experts by fewer") {
  Case one = one_stage({.expert = 4}, 2, 6);
  one.graph.layers[LayerId(1)].experts = Bytes(200'000'000);
  one.plan.training.zero = 1;
  const KeptPlan kept(one.graph, one.platform, one.plan);
  const HeldParameters held = held_parameters(kept, ReplicaId(0), Bytes(1'000'000'000));
  CHECK((held.replicas == 8 && held.expert_replicas == 2 && held.experts == Bytes(200'000'000)));
  const StaticMemory memory = kept_state(one.plan.training, held);
  CHECK(memory.weights == Bytes(1'000'000'000));
  CHECK(memory.optimizer == Bytes(2 * (800'000'000 / 8 + 200'000'000 / 2)));
  for (const DeviceReport& device : report_of(one).devices) {
    CHECK(device.memory.peak == Bytes(2'000'000'000) + memory.optimizer);
  }
}

TEST_CASE("token groups: a device that stands for a group keeps what its members do, with the buffers") {
  for (const std::int64_t zero : {1, 2, 3}) {
    CAPTURE(zero);
    Case one = one_stage({.context = 3}, 1, 6);
    one.plan.training.zero = zero;
    const Report whole = report_of(one);
    Case stands = one_stage({}, 1, 6);
    stands.graph.copies = one.graph.copies;
    stands.plan.training.zero = zero;
    CHECK(report_of(stands).devices.front().memory.peak == whole.devices.front().memory.peak);
  }
}

TEST_CASE("token groups: a microbatch has samples for each member with samples of its own") {
  const Case one = one_stage({.expert = 4}, 2, 6);
  const Report report = report_of(one);
  CHECK(report.throughput == doctest::Approx(4 * 6 * testing::kSamples / report.iterations.back().value()));
  CHECK(one_stage({.tensor = 2, .context = 2, .expert = 2}, 1, 1).plan.degrees.samples() == 1);
}

TEST_CASE("token groups: schedules that do not flush are refused, but not for tensor groups") {
  const auto refused = [](const Degrees& degrees, Bytes experts) {
    Case one = one_stage(degrees, 1, 4);
    one.graph.layers[LayerId(0)].experts = experts;
    one.plan.schedule.name = "pipedream";
    return std::holds_alternative<ScheduleRefusals>(compile_schedule(one.graph, one.platform, one.plan));
  };
  CHECK(refused({.context = 2}, Bytes(0)));
  CHECK(refused({.tensor = 2}, Bytes(4)));  // each has all experts
  CHECK_FALSE(refused({.tensor = 2}, Bytes(0)));
}

TEST_CASE("token groups: devices that do not reach each other are named") {
  Case one = one_stage({.context = 3}, 1, 1);
  PlatformSpec spec = one.platform.spec;
  auto& form = std::get<ExplicitForm>(spec.form);
  const LinkSpec link = *form.default_link;
  form.default_link.reset();
  form.links.push_back({"", std::pair(DeviceId(0), DeviceId(1)), link});
  form.links.push_back({"", std::pair(DeviceId(1), DeviceId(2)), link});
  one.platform = build_platform(std::move(spec));
  CHECK_FALSE(check_plan(one.graph, one.platform, one.plan).empty());
}

}  // namespace
}  // namespace stagecraft::token_groups_test
