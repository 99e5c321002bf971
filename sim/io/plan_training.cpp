#include "sim/io/plan_training.hpp"

#include "sim/io/yaml_values.hpp"
#include "sim/model/training_choice.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

OptimizerRecipe read_recipe_name(const YamlNode& node) {
  std::vector<std::pair<std::string, OptimizerRecipe>> choices;
  for (const OptimizerRecipe recipe : kOptimizerRecipes) choices.emplace_back(to_string(recipe), recipe);
  return read_choice<OptimizerRecipe>(node, choices);
}

/// The training of `graph`, as `training_of`, with the place in the file where it refuses.
Training settled(const TrainingChoice& choice, const std::optional<YamlNode>& recipe, const LayerGraph& graph) {
  try {
    return training_of(choice, graph);
  } catch (const InputError& error) {
    recipe->fail(error.message(), error.hint());
  }
}

}  // namespace

StashConvention read_stash(const YamlNode& training) {
  const auto stash = training.find("stash");
  if (!stash) return StashConvention::Autograd;
  return read_choice<StashConvention>(*stash,
                                      {{"autograd", StashConvention::Autograd}, {"input", StashConvention::Input}});
}

Training read_training(const YamlNode& node, const LayerGraph& graph) {
  node.allow_keys({"gradient_copies", "optimizer_copies", "boundary_buffers", "input_gradient_release",
                   "gradient_bucket", "stash", "recipe", "zero"});
  TrainingChoice training;
  const auto set = [&](std::string_view key, std::int64_t& into) {
    const auto found = node.find(key);
    if (found) into = read_count(*found, 0, kMostCopies);
    return found.has_value();
  };
  training.gives_gradient_copies = set("gradient_copies", training.gradient_copies);
  training.gives_optimizer_copies = set("optimizer_copies", training.optimizer_copies);
  set("boundary_buffers", training.boundary_buffers);
  if (const auto release = node.find("input_gradient_release")) {
    training.input_gradient_release = read_number(*release);
    if (training.input_gradient_release > 1.0) release->fail_expected("a share from 0 to 1");
  }
  if (const auto bucket = node.find("gradient_bucket")) training.gradient_bucket = read_bytes(*bucket);
  training.stash = read_stash(node);
  if (const auto zero = node.find("zero")) training.zero = read_count(*zero, 0, kMostDivided);
  const auto recipe = node.find("recipe");
  if (recipe) training.recipe = read_recipe_name(*recipe);
  return settled(training, recipe, graph);
}

}  // namespace stagecraft
