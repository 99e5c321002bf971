#include "sim/schedule/one_f_one_b.hpp"
#include "sim/schedule/schedule_family.hpp"

namespace stagecraft {

extern const ScheduleFamily family_1f1b;

namespace {

Compilation compile_1f1b(const PlanContext& context, const Options& /*parameters*/) {
  return one_f_one_b_program(context, true, 1);
}

}  // namespace

const ScheduleFamily family_1f1b{
    .name = "1f1b",
    .summary = "forwards and backwards in turn after a warm-up; flushed at the end of the iteration",
    .source = "PipeDream-Flush (Narayanan et al., ICML 2021); DAPPLE policy A (Fan et al., PPoPP 2021)",
    .synchronous = true,
    .parameters = {},
    .compile = compile_1f1b,
};

}  // namespace stagecraft
