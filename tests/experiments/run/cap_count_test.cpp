#include "experiments/run/judge.hpp"
#include "sim/model/plan.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace stagecraft {

// Stage 0 starts two forwards before its first backward ends, stage 1 never has more than one in flight.
TEST_CASE("check: the microbatches in flight of a run are counted against the caps") {
  const Platform platform = testing::flat_platform(2);
  Plan plan;
  plan.stages.resize(2);
  const auto findings = [&] {
    CapCount count(plan);
    const auto add = [&](std::uint32_t stage, OpKind kind, bool closes) {
      Op op;
      op.kind = kind;
      op.closes = closes;
      op.stage = StageId(stage);
      op.from = platform.place(DeviceId(stage));
      count.add({}, op);
    };
    add(0, OpKind::Forward, false);
    add(0, OpKind::Forward, false);
    add(1, OpKind::Forward, false);
    add(1, OpKind::Recompute, false);
    add(1, OpKind::Backward, true);
    add(1, OpKind::Forward, false);
    add(0, OpKind::Backward, true);
    return count.findings(platform);
  };
  CHECK(findings().empty());  // no caps
  plan.stages[0].in_flight = 2;
  plan.stages[1].in_flight = 1;
  CHECK(findings().empty());
  plan.stages[0].in_flight = 1;
  CHECK(findings() ==
        std::vector<Finding>{{"schedule", 0, "gpu0 has 2 microbatches of stage 0 in flight, more than its cap of 1"}});
}

}  // namespace stagecraft
