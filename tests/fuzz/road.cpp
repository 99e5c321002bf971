#include "tests/fuzz/road.hpp"

#include "experiments/run/planning.hpp"
#include "experiments/view/description.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/text_file.hpp"
#include "tests/paths.hpp"

#include <string>
#include <variant>

namespace stagecraft::fuzz {
namespace {

constexpr std::size_t kManyDescribed = 300;  // a description has a line for each
constexpr std::uint64_t kManyDevices = 8;
constexpr std::uint64_t kManyLinks = 512;

std::string vector(const char* name) { return std::string(STAGECRAFT_SOURCE_DIR "/tests/vectors/good/") + name; }

const Model& toy_model() {
  static const Model kModel = read_model_file(vector("model_toy.yaml"));
  return kModel;
}

std::uint64_t device_count(const PlatformSpec& spec) {
  if (const auto* form = std::get_if<ExplicitForm>(&spec.form)) return form->devices.size();
  const auto& form = std::get<NodeForm>(spec.form);
  std::uint64_t count = 0;
  for (const NodeGroup& group : form.groups) {
    count += std::uint64_t{group.count} * form.node_kinds[group.kind].device_count;
  }
  return count;
}

bool is_small(const PlatformSpec& spec) {
  if (device_count(spec) > kManyDevices) return false;
  const auto* form = std::get_if<NodeForm>(&spec.form);
  return form == nullptr || count_links(*form) <= kManyLinks;
}

}  // namespace

void check_printable(const std::string& text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    STAGECRAFT_CHECK((byte >= 0x20 && byte != 0x7F) || c == '\n' || c == '\t',
                     "what is printed has no control characters");
  }
}

const LayerGraph& toy_graph() { return toy_model().profiles.front(); }

const Platform& toy_platform() {
  static const Platform kPlatform = build_platform(read_platform_file(vector("platform_two_nodes.yaml")));
  return kPlatform;
}

const Plan& folded_plan() {
  static const Plan kPlan =
      parse_plan(read_text_file(vector("plan_folded.yaml")), "plan", toy_graph(), toy_platform()).plan;
  return kPlan;
}

void follow(const Model& model) {
  STAGECRAFT_CHECK(parse_model(write_model(model), "written") == model, "a model reads back");
  if (model.profiles.front().layers.size() > kManyDescribed) return;
  check_printable(describe_model(model).text);
  for (const StashConvention stash : {StashConvention::Autograd, StashConvention::Input}) {
    takes([&] { static_cast<void>(profile_at(model, 3, stash, [](const std::string&) {})); });
  }
}

void follow(const PlatformSpec& spec) {
  STAGECRAFT_CHECK(parse_platform(write_platform(spec), "written") == spec, "a platform reads back");
  if (!is_small(spec)) return;
  Platform platform;
  if (!takes([&] { platform = build_platform(spec); })) return;
  takes([&] { check_printable(describe_platform(platform).text); });
}

}  // namespace stagecraft::fuzz
