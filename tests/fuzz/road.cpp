#include "tests/fuzz/road.hpp"

#include "experiments/run/planning.hpp"
#include "experiments/view/description.hpp"
#include "planners/registry.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/io/platform_file.hpp"
#include "tests/paths.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <variant>

namespace stagecraft::fuzz {
namespace {

constexpr std::size_t kManyLayers = 10;      // a planner's work grows fast
constexpr std::size_t kManyDescribed = 300;  // a description has a line for each
constexpr std::uint64_t kManyDevices = 8;
constexpr std::uint64_t kManyToSearch = 4;
constexpr std::uint64_t kManyLinks = 512;

std::string vector(const char* name) { return std::string(STAGECRAFT_SOURCE_DIR "/tests/vectors/good/") + name; }

const Model& toy_model() {
  static const Model kModel = read_model_file(vector("model_toy.yaml"));
  return kModel;
}

/// Whether the planner's work hardly grows with the devices. All others search.
bool is_quick(const PlannerInfo& planner) {
  constexpr std::array<std::string_view, 4> kQuick = {"data-parallel", "gpipe", "pipedream-sync", "uniform"};
  return std::ranges::find(kQuick, planner.name) != kQuick.end();
}

/// Plans with every planner, as `stagecraft plan` would; what it prints reads back.
void plan_with_all(const Inputs& inputs) {
  for (const PlannerInfo* planner : all_planners()) {
    if (inputs.platform.devices.size() > kManyToSearch && !is_quick(*planner)) continue;
    PlanningChoices choices;
    choices.microbatches = 12;
    Planning planning;
    if (!takes([&] { planning = make_plan(*planner, inputs, choices, [](const std::string&) {}); })) continue;
    const Planned* planned = planning.planned();
    if (planned == nullptr) continue;
    const std::string text = write_plan_yaml(planned->plan, planning.graph, inputs.platform);
    const PlanReading reading = parse_plan(text, "written", planning.graph, inputs.platform);
    STAGECRAFT_CHECK(reading.problems.empty() && reading.plan == planned->plan, "a plan reads back");
    check_printable(describe_plan(planning.graph, inputs.platform, planned->plan,
                                  evaluate_traffic(planning.graph, inputs.platform, planned->plan))
                        .text);
  }
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

void follow(const Model& model) {
  STAGECRAFT_CHECK(parse_model(write_model(model), "written") == model, "a model reads back");
  const std::size_t layers = model.profiles.front().layers.size();
  if (layers > kManyDescribed) return;
  check_printable(describe_model(model).text);
  for (const StashConvention stash : {StashConvention::Autograd, StashConvention::Input}) {
    takes([&] { static_cast<void>(profile_at(model, 3, stash, [](const std::string&) {})); });
  }
  if (layers > kManyLayers) return;
  Inputs inputs{.model = model, .platform = toy_platform(), .model_hash = "m", .platform_hash = "p"};
  takes([&] { fit_to_platform(inputs.model, inputs.platform); });
  inputs.model = {model.profiles, {}, {}};  // given figures: those of a recipe know their kinds of device
  inputs.platform = toy_platform();
  for (LayerGraph& graph : inputs.model.profiles) graph.device_kind = toy_graph().device_kind;
  plan_with_all(inputs);
}

void follow(const PlatformSpec& spec) {
  STAGECRAFT_CHECK(parse_platform(write_platform(spec), "written") == spec, "a platform reads back");
  if (!is_small(spec)) return;
  Inputs inputs{.model = toy_model(), .platform = {}, .model_hash = "m", .platform_hash = "p"};
  if (!takes([&] { inputs.platform = build_platform(spec); })) return;
  takes([&] { check_printable(describe_platform(inputs.platform).text); });
  inputs.model.profiles.front().device_kind = inputs.platform.kind(DeviceId(0)).name;
  plan_with_all(inputs);
}

}  // namespace stagecraft::fuzz
