#include "experiments/run/plan_input.hpp"

#include "sim/base/text.hpp"
#include "sim/io/text_file.hpp"

namespace stagecraft {
namespace {

/// A warning if the plan was made for another model or platform than the given one. Hashes are compared if the plan has
/// one, names otherwise.
std::string mismatch(const std::string& kind, const std::string& planned_hash, const std::string& planned_name,
                     const std::string& hash, const std::string& name) {
  if (!planned_hash.empty() && planned_hash != hash) {
    const std::string hint =
        planned_name == name ? "; if it was made with --set " + kind + ".PATH, give the same here" : "";
    return "warning: the plan was made for another " + kind + " file (its SHA-256 differs" + hint + ")";
  }
  if (planned_hash.empty() && !planned_name.empty() && planned_name != name) {
    return "warning: the plan was made for the " + kind + " " + quote(planned_name) + ", not " + quote(name);
  }
  return {};
}

}  // namespace

PlanInput load_plan(const std::string& path, const Inputs& inputs, const std::function<void(const std::string&)>& say) {
  return parse_plan_input(read_text_file(path), path, inputs, say);
}

PlanInput parse_plan_input(const std::string& text, const std::string& path, const Inputs& inputs,
                           const std::function<void(const std::string&)>& say) {
  const PlanHeader header = parse_plan_header(text, path);
  const std::string& model = inputs.model.profiles.front().name;
  const std::string& platform = inputs.platform.spec.name;
  for (const std::string& warning :
       {mismatch("model", header.model_hash, header.model, inputs.model_hash, model),
        mismatch("platform", header.platform_hash, header.platform, inputs.platform_hash, platform)}) {
    if (!warning.empty()) say(warning);
  }
  PlanInput input;
  input.graph = profile_at(inputs.model, header.microbatch_size, header.stash, say);
  input.reading = parse_plan(text, path, input.graph, inputs.platform);
  return input;
}

}  // namespace stagecraft
