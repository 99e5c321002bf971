#pragma once

#include "planners/planner.hpp"
#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace stagecraft {

/// What every call of a planner that is a program of its own is told beside the request.
struct ExternalCalls {
  Seconds time_limit{600};
  std::optional<std::int64_t> seed;
};

/// A program that could not be started, was killed, or left with an error or without an answer.
class PlannerFailure : public InputError {
 public:
  using InputError::InputError;
};

/// A program that did not answer within its time limit.
class PlannerTimeout : public InputError {
 public:
  using InputError::InputError;
};

/// Whether a planner of that name is a program: `exec:PATH`.
[[nodiscard]] bool is_external(const std::string& name);

/// The program at `path` as a planner called `name`. Each call starts it anew, writes the request to its standard input
/// and reads a plan from its standard output (docs/how-to/write-a-planner.md), which is judged like a plan file.
/// **Throws** InputError, and so does the planner, naming it: for a file that is no program, a program that fails, an
/// answer that is no plan, and a plan that breaks a rule or is not what was asked for. The planner throws
/// PlannerFailure and PlannerTimeout, which are InputErrors too.
[[nodiscard]] PlannerInfo external_planner(const std::string& name, const std::string& path,
                                           const ExternalCalls& calls = {});

/// The planner called `name`, one of ours or `exec:PATH`; a relative path starts at `folder`, or where we are.
/// **Throws** InputError for an unknown name or a file that is no program.
[[nodiscard]] std::shared_ptr<const PlannerInfo> resolve_planner(const std::string& name,
                                                                 const ExternalCalls& calls = {},
                                                                 const std::string& folder = {});

}  // namespace stagecraft
