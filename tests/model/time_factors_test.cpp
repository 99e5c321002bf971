#include "sim/model/time_factors.hpp"

#include "sim/model/layer_graph.hpp"
#include "sim/model/measured_profiles.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>

namespace stagecraft {
namespace {

const IndexVector<LayerId, TimeFactors> kFactors = {{2.0, 3.0}, {1.0, 0.5}};

/// Two layers with profiles of 4 samples, and of 8 samples that take three times as long.
Model two_sizes() {
  LayerGraph small = testing::chain({1.0, 2.0});
  small.microbatch_size = 4;
  LayerGraph large = testing::chain({3.0, 6.0});
  large.microbatch_size = 8;
  Model model;
  model.profiles = {small, large};
  return model;
}

void check_changed(const LayerTimes& given, const LayerTimes& changed, const TimeFactors& factors) {
  CHECK(changed.forward.value() == doctest::Approx(factors.forward * given.forward.value()).epsilon(1e-12));
  CHECK(changed.backward.value() == doctest::Approx(factors.backward * given.backward.value()).epsilon(1e-12));
  CHECK(changed.backward_weight.value() ==
        doctest::Approx(factors.backward * given.backward_weight.value()).epsilon(1e-12));
}

}  // namespace

TEST_CASE("time factors: times for other sizes change as the profile's do, in a graph and in a model") {
  const Model model = two_sizes();
  const LayerGraph given = at_microbatch_size(model, 6);
  const LayerGraph graph = with_time_factors(given, kFactors);
  const LayerGraph of_model = at_microbatch_size(with_time_factors(model, kFactors), 6);
  for (LayerId layer : indices(given.layers)) {
    for (const std::int64_t samples : {1, 4, 5, 8, 20}) {
      CAPTURE(samples);
      const LayerTimes own = given.own_times->times(layer, given.device_kind, samples);
      check_changed(own, graph.own_times->times(layer, given.device_kind, samples), kFactors[layer]);
      check_changed(own, of_model.own_times->times(layer, given.device_kind, samples), kFactors[layer]);
    }
    const auto times = [&](const LayerGraph& of) {
      return LayerTimes{of.layers[layer].forward, of.layers[layer].backward, of.layers[layer].backward_weight};
    };
    check_changed(times(given), times(graph), kFactors[layer]);
    check_changed(times(given), times(of_model), kFactors[layer]);
  }
}

TEST_CASE("time factors: a computed model is changed at sizes that it has not computed yet") {
  Model model = two_sizes();
  model.computed = std::make_shared<MeasuredProfiles>(model.profiles);
  const Model changed = with_time_factors(model, kFactors);
  const LayerGraph given = at_microbatch_size(model, 16);
  const LayerGraph graph = at_microbatch_size(changed, 16);
  for (LayerId layer : indices(given.layers)) {
    CHECK(graph.layers[layer].forward.value() ==
          doctest::Approx(kFactors[layer].forward * given.layers[layer].forward.value()));
    CHECK(graph.layers[layer].stash == given.layers[layer].stash);
  }
  CHECK(changed.computed->has("A"));
  CHECK_FALSE(changed.computed->has("B"));
  CHECK(changed.computed->origin("A", 16) == Origin::Extrapolated);
}

}  // namespace stagecraft
