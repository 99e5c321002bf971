#include "experiments/view/long_run_view.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>

namespace stagecraft {
namespace {

const char* reason(WholeBecause why) {
  switch (why) {
    case WholeBecause::Recorded: return "what is asked for shows every operation";
    case WholeBecause::Changes: return "there are events, or the plan may change";
    case WholeBecause::Iterations: return "there are several iterations";
    case WholeBecause::Orders: return "the orders of its devices are not known to repeat";
    case WholeBecause::NoState: return "no state came again in an eighth of it, or in 4 million operations";
  }
  return "";
}

std::string repetition_text(const Repetition& own) {
  return fmt::format("the state after {} comes again every {} ({}), as runs of {} and {} microbatches show{}",
                     format_human_seconds(own.from), counted(own.microbatches(), "microbatch"),
                     format_human_seconds(own.period), own.shorter, own.longer,
                     own.is_exact ? "" : "; transfers share links");
}

std::string difference_text(double difference) {
  constexpr double kRounding = 1e-6;
  return fmt::format("; figures of the whole run differ by at most {:.1g} of themselves{}", difference,
                     difference > kRounding ? ", so it has another rhythm" : "");
}

}  // namespace

std::string long_run_line(const std::optional<LongRun>& run, bool is_asked) {
  if (!run)
    return is_asked ? fmt::format("simulated whole, as all runs of fewer than {} microbatches\n", kLeastLongRun) : "";
  const bool is_clear = run->why() == WholeBecause::Recorded || run->why() == WholeBecause::Changes;
  if (is_clear && !is_asked) return "";
  const Repetition* own = run->repetition();
  std::string text = own != nullptr ? "steady state: " + repetition_text(*own)
                                    : std::string("simulated whole: ") + reason(*run->why());
  if (run->difference) text += difference_text(*run->difference);
  return text + "\n";
}

Detail long_run_record(const std::optional<LongRun>& run) {
  if (!run) return {};
  const Repetition* own = run->repetition();
  const auto of_state = [&](auto value) { return own != nullptr ? Detail(value(*own)) : Detail(); };
  return Detail::Record{
      {"whole", own == nullptr ? Detail(reason(*run->why())) : Detail()},
      {"microbatches", of_state([](const Repetition& state) { return Detail::List{state.shorter, state.longer}; })},
      {"from_s", of_state([](const Repetition& state) { return state.from.value(); })},
      {"period_microbatches", of_state([](const Repetition& state) { return state.microbatches(); })},
      {"period_s", of_state([](const Repetition& state) { return state.period.value(); })},
      {"exact", of_state([](const Repetition& state) { return state.is_exact; })},
      {"difference", run->difference ? Detail(*run->difference) : Detail()}};
}

}  // namespace stagecraft
