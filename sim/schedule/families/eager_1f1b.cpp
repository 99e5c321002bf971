#include "sim/schedule/one_f_one_b.hpp"
#include "sim/schedule/schedule_family.hpp"

namespace stagecraft {

extern const ScheduleFamily family_eager_1f1b;

namespace {

constexpr std::int64_t kEagerness = 2;

Compilation compile_eager_1f1b(const PlanContext& context, const Options& /*parameters*/) {
  return one_f_one_b_program(context, true, kEagerness);
}

}  // namespace

const ScheduleFamily family_eager_1f1b{
    .name = "eager-1f1b",
    .summary =
        "like 1f1b with twice the warm-up, which hides the time of transfers; flushed at the end of the iteration",
    .source = "DAPPLE policy B (Fan et al., PPoPP 2021)",
    .synchronous = true,
    .parameters = {},
    .compile = compile_eager_1f1b,
};

}  // namespace stagecraft
