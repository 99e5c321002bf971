#include "sim/model/check_plan.hpp"

#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <functional>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;
using Rule = Violation::Rule;

/// The violations of a good plan of three stages after one change.
std::vector<Violation> judged(const std::function<void(Plan&)>& change) {
  Plan plan = straight(3, 4, "1f1b");
  plan.microbatch_size = 4;
  change(plan);
  return check_plan(chain(3, 1, 2), pairwise(3), plan);
}

void check_one(const std::vector<Violation>& violations, Rule rule, const std::string& message) {
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].rule == rule);
  CHECK(violations[0].message == message);
}

TEST_CASE("check_plan: a good plan has no violations") {
  CHECK(judged([](Plan&) {}).empty());
}

TEST_CASE("check_plan: numbers lie in their ranges") {
  check_one(judged([](Plan& plan) { plan.microbatches = 0; }), Rule::Numbers, "microbatches is 0, less than 1");
  check_one(judged([](Plan& plan) { plan.stages[1].in_flight = 0; }), Rule::Numbers,
            "stage 1: in_flight is 0, less than 1");
  check_one(judged([](Plan& plan) { plan.stages[1].swap_backlog = -1; }), Rule::Swap,
            "stage 1 has a negative swap_backlog");
  check_one(judged([](Plan& plan) { plan.training.boundary_buffers = -1; }), Rule::Numbers,
            "a number of copies or buffers in training is negative");
  for (const std::int64_t zero : {-1, 4}) {
    check_one(judged([&](Plan& plan) { plan.training.zero = zero; }), Rule::Numbers,
              "training.zero is not between 0 and 3");
  }
}

TEST_CASE("check_plan: every layer is in exactly one stage") {
  check_one(judged([](Plan& plan) { plan.stages[2].layers.push_back(LayerId(1)); }), Rule::Coverage,
            "layer 'l1' is in stage 1 and again in stage 2");
  const auto missing = judged([](Plan& plan) { plan.stages[1].layers.clear(); });
  REQUIRE(missing.size() == 2);
  CHECK(missing[0].message == "stage 1 has no layers");
  CHECK(missing[1].message == "layer 'l1' is in no stage");
}

TEST_CASE("check_plan: a second pipeline covers the model once more") {
  const auto violations = judged([](Plan& plan) {
    Stage twin = plan.stages[0];
    twin.pipeline = 1;
    plan.stages.push_back(twin);
  });
  REQUIRE(violations.size() == 2);
  CHECK(violations[0].message == "layer 'l1' is in no stage of pipeline 1");
  CHECK(judged([](Plan& plan) { plan.stages[0].pipeline = 4'000'000'000; })[0].message ==
        "pipelines are not numbered from 0 without gaps");
}

TEST_CASE("check_plan: devices are there, once each") {
  check_one(judged([](Plan& plan) { plan.stages[0].replicas.clear(); }), Rule::Devices, "stage 0 has no devices");
  check_one(judged([](Plan& plan) { plan.stages[0].replicas.push_back(DeviceId(0)); }), Rule::Devices,
            "stage 0 names gpu0 twice");
}

TEST_CASE("check_plan: no layer feeds an earlier stage") {
  const auto violations = judged([](Plan& plan) { std::swap(plan.stages[0].layers, plan.stages[1].layers); });
  REQUIRE(!violations.empty());
  CHECK(violations[0].rule == Rule::Order);
  CHECK(violations[0].message == "layer 'l0' of stage 1 feeds 'l1' of the earlier stage 0");
}

TEST_CASE("check_plan: recompute segments are runs of the stage's layers") {
  check_one(judged([](Plan& plan) { plan.stages[0].memory = {Recompute{}}; }), Rule::Recompute,
            "stage 0 has an empty recompute segment");
  check_one(judged([](Plan& plan) { plan.stages[0].memory = {Recompute{{LayerId(1)}}}; }), Rule::Recompute,
            "stage 0: the recompute segment from 'l1' to 'l1' is not a run of consecutive layers of the stage");
  check_one(judged([](Plan& plan) { plan.stages[0].memory = {Recompute{{LayerId(0)}}, Recompute{{LayerId(0)}}}; }),
            Rule::Recompute, "stage 0 recomputes layer 'l0' twice");
}

TEST_CASE("check_plan: actions for some microbatches count them alike") {
  const auto with = [](Covered a, Covered b) {
    return judged([&](Plan& plan) {
      plan.stages[0].layers = {LayerId(0), LayerId(1)};
      plan.stages.erase(plan.stages.begin() + 1);
      plan.stages[0].memory = {Recompute{{LayerId(0)}, a}, Recompute{{LayerId(1)}, b}};
    });
  };
  CHECK(with({1, 4}, {3, 4}).empty());
  CHECK(with({1, 4}, {}).empty());
  check_one(with({1, 4}, {1, 3}), Rule::Recompute,
            "stage 0 has actions for some of 4 and of 3 microbatches; all must count the same");
  check_one(with({5, 4}, {}), Rule::Recompute, "stage 0: an action covers 5 of 4 microbatches");
}

TEST_CASE("check_plan: a ring names each replica once, and a replica is one device") {
  for (const std::vector<std::uint32_t>& ring : {std::vector<std::uint32_t>{0, 0}, {1}, {0, 1}}) {
    check_one(judged([&](Plan& plan) { plan.stages[0].ring = ring; }), Rule::Devices,
              "stage 0: the ring of the all-reduce does not name each replica once");
  }
  check_one(judged([](Plan& plan) { plan.stages[0].replicas[0].devices.push_back(DeviceId(1)); }), Rule::Devices,
            "stage 0 has a replica of 2 devices, not of one");
}

/// Two stages, each of a group of two of four devices.
std::vector<Violation> judged_groups(const std::function<void(Plan&)>& change) {
  Plan plan = straight(2, 4, "1f1b");
  plan.microbatch_size = 4;
  plan.degrees.tensor = 2;
  plan.stages[0].replicas.front().devices = {DeviceId(0), DeviceId(1)};
  plan.stages[1].replicas.front().devices = {DeviceId(2), DeviceId(3)};
  change(plan);
  return check_plan(chain(2, 1, 2), pairwise(4), plan);
}

TEST_CASE("check_plan: groups have the size that the plan says, and devices of their own or all of another's") {
  CHECK(judged_groups([](Plan&) {}).empty());
  CHECK(judged_groups([](Plan& plan) { plan.stages[1].replicas = plan.stages[0].replicas; }).empty());
  check_one(judged_groups([](Plan& plan) { plan.stages[1].replicas.front().devices.pop_back(); }), Rule::Devices,
            "stage 1 has a replica of 1 device, not of 2");
  check_one(judged_groups([](Plan& plan) { plan.stages[1].replicas.front().devices = {DeviceId(2), DeviceId(1)}; }),
            Rule::Devices, "stage 1 has gpu1 in another group than an earlier stage");
}

TEST_CASE("check_plan: only kept layers are swapped, where there is a host") {
  check_one(judged([](Plan& plan) { plan.stages[0].memory = {Swap{{LayerId(0)}}}; }), Rule::Swap,
            "stage 0 swaps on gpu0, which has no host");
  CHECK(judged([](Plan& plan) { plan.stages[0].memory = {Swap{}}; })[0].message == "stage 0 has a swap without layers");
}

TEST_CASE("check_plan: replicas that divide a microbatch get a sample each") {
  const auto violations = judged([](Plan& plan) {
    plan.microbatch_size = 1;
    plan.stages[2].replicas = {DeviceId(1), DeviceId(2)};
    plan.stages[2].replication = Replication::Split;
  });
  check_one(violations, Rule::Replication, "stage 2 divides microbatches of 1 sample over 2 replicas");
}

TEST_CASE("check_plan: what exchanges tensors is connected") {
  PlatformSpec spec = pairwise(3).spec;
  auto& form = std::get<ExplicitForm>(spec.form);
  form.links.push_back({"", std::pair(DeviceId(0), DeviceId(1)), *form.default_link});
  form.default_link.reset();
  const auto violations = check_plan(chain(3, 1, 2), build_platform(std::move(spec)), straight(3, 4, "1f1b"));
  REQUIRE(violations.size() == 2);
  CHECK(violations[0].rule == Rule::Connection);
  CHECK(violations[0].message == "the boundary of stage 1 and stage 2 goes from gpu1 to gpu2, which are not connected");
}

TEST_CASE("check_plan: replicas of the same layers in different pipelines are connected") {
  PlatformSpec spec = pairwise(2).spec;
  std::get<ExplicitForm>(spec.form).default_link.reset();
  Plan plan = straight(1, 4, "1f1b");
  plan.stages.push_back(plan.stages[0]);
  plan.stages[1].replicas = {DeviceId(1)};
  plan.stages[1].pipeline = 1;
  const auto violations = check_plan(chain(1, 1, 2), build_platform(std::move(spec)), plan);
  REQUIRE(violations.size() == 2);
  CHECK(violations[0].rule == Rule::Connection);
  CHECK(violations[0].stage == StageId(0));
  CHECK(violations[0].message ==
        "the all-reduce of stage 0 and stage 1 goes from gpu0 to gpu1, which are not connected");
  CHECK(check_plan(chain(1, 1, 2), pairwise(2), plan).empty());
}

}  // namespace
}  // namespace stagecraft
