#pragma once

#include "experiments/commands/shared_options.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/plan_input.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// What a plan is judged with, as the user typed it.
struct PlanInputOptions {
  GivenInputs given;
  std::vector<std::string> speeds;
  std::vector<std::string> set;
};
/// `when` begins the help of each option, such as `for a plan: `.
void add_plan_input_options(CLI::App& command, PlanInputOptions& options, const std::string& when = {});

/// The files of the plan's model and platform, by their paths.
/// **Throws** InputError as `find_plan_inputs`.
[[nodiscard]] InputOptions find_inputs(const PlanInputOptions& options, const FileText& plan);

/// A plan that has been read, and the files that it is judged with.
struct PlanFiles {
  FileText plan;
  InputOptions inputs;
};
/// **Throws** InputError for a plan that cannot be read, and as `find_inputs`.
[[nodiscard]] PlanFiles read_plan_files(const std::string& plan, const PlanInputOptions& options);

}  // namespace stagecraft
