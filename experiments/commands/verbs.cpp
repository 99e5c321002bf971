#include "experiments/commands/verbs.hpp"

namespace stagecraft {

const std::vector<const Verb*>& all_verbs() {
  static const std::vector<const Verb*> verbs = {
      &plan_verb,     &check_verb,       &simulate_verb, &export_verb,   &compare_verb, &max_batch_verb,
      &run_verb,      &collect_verb,     &report_verb,   &import_verb,   &model_verb,   &calibrate_verb,
      &validate_verb, &make_events_verb, &list_verb,     &describe_verb, &schema_verb,  &completion_verb,
      &man_verb,      &serve_verb,       &worker_verb,   &help_verb,     &version_verb,
  };
  return verbs;
}

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const Verb* verb : all_verbs()) names.push_back(verb->name);
  return names;
}

}  // namespace stagecraft
