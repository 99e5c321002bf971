#include "experiments/commands/applied_change.hpp"

#include "experiments/commands/add_option.hpp"
#include "experiments/run/option_text.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <cstddef>
#include <limits>

namespace stagecraft {
namespace {

constexpr const char* kApply = "--apply";

[[noreturn]] void refuse_change(const std::string& reason, const std::string& hint) {
  throw InputError(reason, {"", 0, 0, kApply}, hint);
}

/// The plan under the names of these inputs, for which it has been found to fit.
Plan made_for(const Inputs& inputs, Plan plan) {
  plan.model = inputs.model.profiles.front().name;
  plan.model_hash = inputs.model_hash;
  plan.computed = inputs.computed;
  plan.platform = inputs.platform.spec.name;
  plan.platform_hash = inputs.platform_hash;
  return plan;
}

}  // namespace

void add_apply_options(CLI::App& command, ApplyOptions& options) {
  add_option(command, kApply, options.number,
             "N: of a plan that is out of memory, write to --output what it is with the N-th of the changes that would "
             "make it fit");
  add_option(command, "-o,--output", options.output,
             "write the changed plan to this file, as JSON if its name ends in .json; - is standard output");
}

std::optional<std::int64_t> read_apply_options(const ApplyOptions& options, const SimulatedRunOptions& run) {
  const auto number = read_count_option(kApply, options.number, 1, std::numeric_limits<std::int64_t>::max());
  if (options.output && !number) {
    throw InputError("is for the plan that --apply changes", {"", 0, 0, "--output"},
                     "--apply N takes the N-th of the changes that simulate lists for a plan out of memory");
  }
  if (!number) return number;
  if (!options.output) refuse_change("needs a file for the changed plan", "-o FILE; -o - is standard output");
  if (run.orders.schedule_file) {
    refuse_change("the orders of a --schedule-file are no part of a plan, and are those of the plan as it is",
                  "leave out --schedule-file: the plan then has its own schedule");
  }
  return number;
}

Plan changed_plan(const SimulatedRun& run, const Remedies& remedies, std::int64_t number) {
  if (!run.simulation.report.out_of_memory()) {
    refuse_change("the plan fits, there is nothing to apply", "simulate it without --apply and --output");
  }
  const std::size_t count = remedies.tried.size();
  if (count == 0) {
    refuse_change(
        "no change is known that alone would make the plan fit",
        "none is looked for where a host lacks memory, and where the memory or the plan changes during the run");
  }
  if (number > static_cast<std::int64_t>(count)) {
    refuse_change("there " + std::string(count == 1 ? "is " : "are ") + counted(count, "change") +
                      " that would make the plan fit, found " + std::to_string(number),
                  "simulate lists them, if --apply is left out");
  }
  const TriedChange& tried = remedies.tried[static_cast<std::size_t>(number) - 1];
  if (tried.plan) return made_for(run.inputs, *tried.plan);
  refuse_change("change " + std::to_string(number) + " is one of the platform, and not of the plan: at least " +
                    format_enough_bytes(*remedies.memory) + " on every device",
                "write that memory to a copy of the platform file, and name it with --platform");
}

}  // namespace stagecraft
