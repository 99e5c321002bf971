#pragma once

#include "experiments/commands/verb.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// Every verb, in the order in which the help lists them.
[[nodiscard]] const std::vector<const Verb*>& all_verbs();
[[nodiscard]] std::vector<std::string> verb_names();

// Each verb has a file in experiments/commands, named after it. A new verb needs a line here and one in verbs.cpp.
extern const Verb calibrate_verb;
extern const Verb check_verb;
extern const Verb collect_verb;
extern const Verb compare_verb;
extern const Verb completion_verb;
extern const Verb describe_verb;
extern const Verb export_verb;
extern const Verb help_verb;
extern const Verb import_verb;
extern const Verb list_verb;
extern const Verb make_events_verb;
extern const Verb man_verb;
extern const Verb max_batch_verb;
extern const Verb model_verb;
extern const Verb plan_verb;
extern const Verb report_verb;
extern const Verb run_verb;
extern const Verb schema_verb;
extern const Verb serve_verb;
extern const Verb simulate_verb;
extern const Verb validate_verb;
extern const Verb version_verb;
extern const Verb worker_verb;

}  // namespace stagecraft
