#pragma once

#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verb.hpp"
#include "sim/model/detail.hpp"

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stagecraft {

/// A command as `run_command_line` takes it.
struct ServedCommand {
  std::vector<std::string> words;
};
/// Hold a model and a platform for the evaluations that follow.
struct ServedHold {
  InputOptions inputs;
};
/// Evaluate plans, each a text.
struct ServedEvaluation {
  std::vector<std::string> plans;
};

/// One line that a client of `stagecraft serve` sends (docs/reference/serve.md).
struct ServedRequest {
  std::variant<ServedCommand, ServedHold, ServedEvaluation> what;
  std::map<std::string, std::string> files = {};  ///< texts by the names that it has for them
};

/// **Throws** InputError for a line that is no request. `id` becomes what the line gives as its id, also then.
[[nodiscard]] ServedRequest parse_served_request(std::string_view line, Detail& id);

/// The line that answers a command: its end and the remarks on the way to it, with a final newline.
[[nodiscard]] std::string answer_line(const Detail& id, const Answer& answer, const std::vector<std::string>& remarks);

/// The line that asks the client's own planner, in the course of a command, with a final newline.
[[nodiscard]] std::string question_line(const Detail& id, const std::string& planner, std::string_view request);

/// A JSON document on one line.
[[nodiscard]] std::string on_one_line(std::string_view json);

}  // namespace stagecraft
