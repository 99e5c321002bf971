#include "sim/model/training_choice.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

using namespace stagecraft;

namespace {

/// A model of one layer with 10 parameters of `bytes`.
LayerGraph ten_parameters(std::int64_t bytes) {
  LayerGraph graph;
  graph.name = "ten";
  graph.parameter_bytes = bytes;
  graph.layers.push_back({});
  graph.layers.back().parameters = Bytes(10 * bytes);
  return graph;
}

/// What training keeps of all of its parameters.
Bytes kept(const LayerGraph& graph, const TrainingChoice& choice) {
  const Training training = training_of(choice, graph);
  return totals(graph).parameters * (1 + training.gradient_copies + training.optimizer_copies);
}

TrainingChoice by(OptimizerRecipe recipe) {
  TrainingChoice choice;
  choice.recipe = recipe;
  return choice;
}

}  // namespace

// Weights, gradients, state. fp32: 4 + 4 + 8. sgd-momentum: 4 + 4 + 4. mixed: 2 + 4 + 12. mixed-16: 2 + 2 + 12.
// mixed-16-accumulate-32: 2 + (2 + 4) + 12. pure-16: 2 + 2 + 4.
TEST_CASE("training: a recipe keeps the bytes of a parameter that its frameworks keep") {
  struct Case {
    OptimizerRecipe recipe;
    std::int64_t weight;
    std::int64_t all;
  };
  const std::array cases{Case{OptimizerRecipe::Fp32, 4, 16},  Case{OptimizerRecipe::SgdMomentum, 4, 12},
                         Case{OptimizerRecipe::Mixed, 2, 18}, Case{OptimizerRecipe::Mixed16, 2, 16},
                         Case{OptimizerRecipe::Pure16, 2, 8}, Case{OptimizerRecipe::Mixed16Accumulate32, 2, 20}};
  static_assert(cases.size() == kOptimizerRecipes.size());
  for (const Case& each : cases) {
    CAPTURE(to_string(each.recipe));
    CHECK(optimizer_recipe_of(to_string(each.recipe)) == each.recipe);
    CHECK(kept(ten_parameters(each.weight), by(each.recipe)) == Bytes(10 * each.all));
    CHECK(training_of(by(each.recipe), ten_parameters(each.weight)).recipe == each.recipe);
    CHECK_THROWS_AS(static_cast<void>(training_of(by(each.recipe), ten_parameters(6 - each.weight))), InputError);
  }
}

TEST_CASE("training: without a recipe a model with parameters of two bytes has mixed, others one and two copies") {
  CHECK(kept(ten_parameters(2), {}) == Bytes(180));
  CHECK(training_of({}, ten_parameters(2)).recipe == OptimizerRecipe::Mixed);
  CHECK(training_of({}, ten_parameters(4)) == Training{});
  LayerGraph measured = ten_parameters(2);
  measured.precision = "fp16";
  measured.parameter_bytes = std::nullopt;
  CHECK(training_of({}, measured) == Training{});
  CHECK(kept(measured, by(OptimizerRecipe::Mixed)) == Bytes(20 * (1 + 2 + 6)));  // only ratios count
  measured.origin = Origin::Computed;  // files of earlier versions, which had four bytes in every precision
  CHECK(training_of({}, measured) == Training{});
  CHECK_THROWS_AS(static_cast<void>(training_of(by(OptimizerRecipe::Mixed), measured)), InputError);
}

TEST_CASE("training: copies that are given win over those of the recipe") {
  TrainingChoice choice = by(OptimizerRecipe::Mixed16);
  choice.optimizer_copies = 3;
  choice.gives_optimizer_copies = true;
  const Training training = training_of(choice, ten_parameters(2));
  CHECK(training.gradient_copies == 1);
  CHECK(training.optimizer_copies == 3);
  CHECK(training.recipe == OptimizerRecipe::Mixed16);
}
