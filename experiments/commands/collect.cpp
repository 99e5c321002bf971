#include "experiments/commands/add_option.hpp"
#include "experiments/commands/collection.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/study/result_files.hpp"
#include "experiments/study/results.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <filesystem>
#include <memory>

namespace stagecraft {
namespace {

struct CollectOptions {
  std::vector<std::string> folders;
  std::optional<std::string> output;
};

/// Refuses to replace the results of another study.
void refuse_other_study(const std::string& folder, const Manifest& manifest) {
  std::error_code ignored;
  if (!std::filesystem::exists(manifest_path(folder), ignored)) return;
  if (const auto reason = difference(read_manifest(folder), manifest)) {
    throw InputError("holds the results of another study: " + *reason, {folder, 0, 0, ""}, "name another folder");
  }
}

VerbAction configure_collect(CLI::App& command) {
  auto options = std::make_shared<CollectOptions>();
  add_required_list(command, "DIR", options->folders, "folders with results of one study, as written by run --out");
  add_option(command, "-o,--output", options->output,
             "write the merged results into this folder instead of the first DIR");
  return [options](const Settings& settings) {
    const Results results = load_results(options->folders);
    const std::string folder = options->output.value_or(options->folders.front());
    if (folder.empty()) throw InputError("--output: expected the name of a folder, found an empty one");
    refuse_other_study(folder, results.manifest);
    for (const std::string& warning : results.warnings) settings.say("warning: " + warning);
    write_results(folder, results);
    return collection_answer(results, result_files(folder));
  };
}

}  // namespace

const Verb collect_verb{
    .name = "collect",
    .summary = "merge the shards of a study into results.csv, results.sqlite and timings.csv",
    .configure = configure_collect,
    .examples = {"stagecraft collect results"},
};

}  // namespace stagecraft
