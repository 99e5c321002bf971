#pragma once

#include "planners/planner.hpp"
#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace stagecraft {

/// Settings for every call of an external planner, in addition to the request.
struct ExternalCalls {
  Seconds time_limit{600};
  std::optional<std::int64_t> seed;
};

/// An external planner could not be started, was killed, or ended with an error or without an answer.
class PlannerFailure : public InputError {
 public:
  using InputError::InputError;
};

/// An external planner did not answer within its time limit.
class PlannerTimeout : public InputError {
 public:
  using InputError::InputError;
};

/// The client of `stagecraft serve`, which has planners of its own while this lives.
/// **Requires** that there is no other one.
class PlannerClient {
 public:
  struct Answer {
    std::string text;     ///< to the request (docs/reference/formats/request.md)
    std::string problem;  ///< why there is none; empty: there is one
  };
  using Ask = std::function<Answer(const std::string& planner, const std::string& request)>;

  explicit PlannerClient(Ask ask);
  ~PlannerClient();
  PlannerClient(const PlannerClient&) = delete;
  PlannerClient& operator=(const PlannerClient&) = delete;
  PlannerClient(PlannerClient&&) = delete;
  PlannerClient& operator=(PlannerClient&&) = delete;

  /// Null if there is none.
  [[nodiscard]] static const PlannerClient* current();
  [[nodiscard]] Answer ask(const std::string& planner, const std::string& request) const {
    return ask_(planner, request);
  }

 private:
  Ask ask_;
};

/// Whether the name means a planner outside this program: `exec:PATH`, or `call:NAME` of a client.
[[nodiscard]] bool is_external(const std::string& name);
[[nodiscard]] bool is_of_client(const std::string& name);

/// The program at `path` as a planner called `name`. Each call starts it anew, writes the request to its standard input
/// and reads a plan from its standard output (docs/how-to/write-a-planner.md), which is judged like a plan file.
/// **Throws** InputError for a file that is no program. The planner throws InputError for an answer that is no plan,
/// and for a plan that breaks a rule or differs from the request. It throws PlannerFailure and PlannerTimeout, which
/// are InputErrors too, if the program fails or does not answer in time. All of them name the planner.
[[nodiscard]] PlannerInfo external_planner(const std::string& name, const std::string& path,
                                           const ExternalCalls& calls = {});

/// The planner called `name`: a planner of this program, `exec:PATH`, or `call:NAME` if there is a client. A relative
/// path starts at `folder`, or at the working folder if `folder` is empty.
/// **Throws** InputError for an unknown name or a file that is no program.
[[nodiscard]] std::shared_ptr<const PlannerInfo> resolve_planner(const std::string& name,
                                                                 const ExternalCalls& calls = {},
                                                                 const std::string& folder = {});

}  // namespace stagecraft
