#include "sim/base/error.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/schedule_family.hpp"

namespace stagecraft {

extern const ScheduleFamily family_literal;

namespace {

/// The orders are given with the run (`LowerOptions::literal`). Without them, the only known bound on a stage's
/// microbatches in flight is the number of microbatches.
Compilation compile_literal(const PlanContext& context, const Options& /*parameters*/) {
  ScheduleProgram program;
  program.orders_are_given = true;
  program.in_flight.assign(context.plan.stages.size(), context.plan.microbatches);
  program.weight_versions.assign(context.plan.stages.size(), 1);
  program.orders = [](Segment) -> Schedule {
    throw InputError("schedule 'literal' needs the file that gives each device's order", {},
                     "give it with --schedule-file");
  };
  return program;
}

}  // namespace

const ScheduleFamily family_literal{
    .name = "literal",
    .summary = "the orders of all devices and channels, given in a file",
    .source = "stagecraft/schedule/1",
    .synchronous = true,
    .parameters = {},
    .compile = compile_literal,
};

}  // namespace stagecraft
