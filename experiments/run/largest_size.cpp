#include "experiments/run/largest_size.hpp"

#include "experiments/run/external_planner.hpp"
#include "experiments/run/judge.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/size_search.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/counted.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

Infeasible because(const Finding& finding) { return {finding.message, {}, finding.stage, Bytes(0), ""}; }

/// Why a plan that breaks no rule does not fit, if it does not.
std::optional<Infeasible> lacking_of(const Planning& planning, const Platform& platform,
                                     const LargestSizeChoices& choices) {
  const Plan& plan = planning.planned()->plan;
  const ScheduleProgram& program = *planning.program;
  const auto peaks = ledger_peaks(planning.graph, platform, program);
  if (auto overflow = memory_overflow(platform, plan, peaks)) return overflow;
  std::vector<Finding> findings = judge_run(planning.graph, platform, program);
  if (findings.empty() && choices.replays) {
    SimulationChoices replay;
    replay.run_length = choices.planning.run_length;
    findings = memory_findings(simulate_program(planning.graph, platform, program, replay, {}).report, platform);
  }
  return findings.empty() ? std::nullopt : std::optional(because(findings.front()));
}

/// The tries of one search, and the best plan so far.
class Tries {
 public:
  Tries(const PlannerInfo& planner, const Inputs& inputs, const LargestSizeChoices& choices)
      : planner_(planner), inputs_(inputs), choices_(choices) {}

  SizeAnswer ask(std::int64_t size) {
    const Activity activity("trying microbatches of " + counted(size, "sample"));
    SizeTry tried{.size = size, .lacking = {}, .refusal = {}};
    SizeAnswer answer;
    try {
      std::vector<std::string> said;
      Planning planning = plan_at_size(planner_, inputs_, choices_.planning, size,
                                       [&](const std::string& text) { said.push_back(text); });
      answer = size_answer(planning);
      if (const auto* none = std::get_if<Infeasible>(&planning.result)) {
        tried.lacking = *none;
      } else {
        tried.lacking = lacking_of(planning, inputs_.platform, choices_);
      }
      answer.fits = tried.fits();
      if (answer.fits && (!best_ || size > best_->graph.microbatch_size)) {
        best_ = std::move(planning);
        said_ = std::move(said);
      }
    } catch (const PlannerFailure&) {
      throw;
    } catch (const PlannerTimeout&) {
      throw;
    } catch (const InputError& error) {
      if (tried_.empty()) first_refusal_ = error;
      tried.refusal = error;
      answer = {};
    }
    tried_.emplace(size, std::move(tried));
    return answer;
  }

  /// The answer of a search that found a size.
  LargestSize found(const std::function<void(const std::string&)>& say) {
    for (const std::string& text : said_) say(text);
    const std::int64_t size = best_->graph.microbatch_size;
    return {.planning = std::move(*best_), .size = size, .tried = in_order()};
  }

  /// The answer of a search that found none.
  LargestSize nothing(const std::function<void(const std::string&)>& say) {
    const bool is_refused =
        std::ranges::all_of(tried_, [](const auto& each) { return each.second.refusal.has_value(); });
    if (is_refused && first_refusal_) throw InputError(*first_refusal_);
    const auto smallest =
        std::ranges::find_if(tried_, [](const auto& each) { return each.second.lacking.has_value(); });
    PlanningChoices choices = choices_.planning;
    choices.microbatch_size = smallest->first;
    LargestSize largest{.planning = make_plan(planner_, inputs_, choices, say), .size = {}, .tried = in_order()};
    if (largest.planning.planned() != nullptr) {
      largest.planning.result = *smallest->second.lacking;
      largest.planning.program.reset();
    }
    return largest;
  }

 private:
  [[nodiscard]] std::vector<SizeTry> in_order() const {
    std::vector<SizeTry> tried;
    for (const auto& [size, each] : tried_) tried.push_back(each);
    return tried;
  }

  const PlannerInfo& planner_;
  const Inputs& inputs_;
  const LargestSizeChoices& choices_;
  std::map<std::int64_t, SizeTry> tried_;
  std::optional<InputError> first_refusal_;
  std::optional<Planning> best_;
  std::vector<std::string> said_;  ///< while the best was planned
};

}  // namespace

const SizeTry* LargestSize::next() const {
  const auto above = std::ranges::find_if(tried, [&](const SizeTry& each) { return !size || each.size > *size; });
  return above == tried.end() ? nullptr : &*above;
}

LargestSize find_largest_size(const PlannerInfo& planner, const Inputs& inputs, const LargestSizeChoices& choices,
                              const std::function<void(const std::string&)>& say) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Tries tries(planner, inputs, choices);
  const SizeQuestion question{.sizes = sizes_to_choose(choices.planning, run_limits::kMostSizes),
                              .ask = [&](std::int64_t size) { return tries.ask(size); },
                              .surely_fits = quick_test(planner, inputs, choices.planning),
                              .most_asked = choices.most_tries};
  const SizeFound found = largest_size_from(question, inputs.model.profiles.front().microbatch_size);
  LargestSize largest = found.size ? tries.found(say) : tries.nothing(say);
  largest.ended_early = found.ended_early;
  largest.planning.time = Seconds(std::chrono::duration<double>(Clock::now() - start).count());
  return largest;
}

std::string open_sizes_text(const LargestSize& largest) {
  if (!largest.ended_early) return "";
  const std::string tries = "the search ended after " + counted(largest.tried.size(), "size");
  if (!largest.size) return tries + "; smaller ones may fit";
  const SizeTry* next = largest.next();
  if (next == nullptr) return tries + "; larger ones may fit";
  if (next->size == *largest.size + 1) return tries + "; sizes above " + std::to_string(next->size) + " may fit";
  return tries + "; sizes from " + std::to_string(*largest.size + 1) + " to " + std::to_string(next->size - 1) +
         " may fit";
}

}  // namespace stagecraft
