#include "sim/model/measured_profiles.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace stagecraft::measured_profiles_test {
namespace {

LayerGraph profile(const std::string& kind, std::int64_t size, double seconds, std::int64_t bytes) {
  LayerGraph graph;
  graph.device_kind = kind;
  graph.microbatch_size = size;
  graph.origin = Origin::Published;
  graph.work = {Flops(8.0), Flops(2.0), 4};
  Layer layer;
  layer.name = "a";
  layer.forward = Seconds(seconds);
  layer.backward = Seconds(2.0 * seconds);
  layer.backward_weight = Seconds(seconds);
  layer.output = layer.stash = Bytes(bytes);
  graph.layers.push_back(layer);
  return graph;
}

/// 10 s at 2 samples, 14 s at 4, 40 s at 8 on kind A; 6 s at 4 samples on kind B.
MeasuredProfiles two_kinds() {
  return MeasuredProfiles(
      {profile("A", 2, 10, 100), profile("A", 4, 14, 200), profile("A", 8, 40, 400), profile("B", 4, 6, 200)});
}

double forward(const MeasuredProfiles& profiles, const std::string& kind, std::int64_t samples) {
  return profiles.times(LayerId(0), kind, samples).forward.value();
}

}  // namespace

TEST_CASE("measured profiles: between sizes and beyond them, times are on the lines of the file") {
  const MeasuredProfiles profiles = two_kinds();
  CHECK(forward(profiles, "A", 3) == 12.0);
  CHECK(forward(profiles, "A", 6) == 27.0);
  CHECK(forward(profiles, "A", 8) == 40.0);
  CHECK(forward(profiles, "A", 12) == 66.0);  // 40 + 4 * 6.5
  CHECK(forward(profiles, "A", 1) == 8.0);    // on the line through 2 and 4: a part costs more than its proportion
  CHECK(profiles.profile("A", 3).work == SampleWork{Flops(8.0), Flops(2.0), 4});  // of one sample
  CHECK(profiles.profile("A", 12).work == SampleWork{Flops(8.0), Flops(2.0), 4});
  CHECK(profiles.origin("A", 4) == Origin::Published);
  CHECK(profiles.origin("A", 3) == Origin::Interpolated);
  CHECK(profiles.origin("A", 1) == Origin::Extrapolated);
  CHECK(profiles.origin("A", 9) == Origin::Extrapolated);
}

TEST_CASE("measured profiles: below the smallest size bytes shrink in proportion, and times not below it") {
  const MeasuredProfiles steep({profile("A", 4, 4, 100), profile("A", 8, 20, 100)});  // the line is negative at 1
  CHECK(forward(steep, "A", 1) == 1.0);
  CHECK(steep.profile("A", 1).layers[LayerId(0)].stash == Bytes(25));
  CHECK(steep.profile("A", 1).microbatch_size == 1);
}

TEST_CASE("measured profiles: each kind has its own sizes") {
  const MeasuredProfiles profiles = two_kinds();
  CHECK(profiles.has("B"));
  CHECK_FALSE(profiles.has("C"));
  CHECK(forward(profiles, "B", 4) == 6.0);
  CHECK(forward(profiles, "B", 2) == 3.0);  // one size only: in proportion
  CHECK(profiles.origin("B", 2) == Origin::Extrapolated);
  CHECK(profiles.profile("B", 8).device_kind == "B");
  CHECK(profiles.times(LayerId(0), "B", 2).backward_weight == Seconds(3));
}

}  // namespace stagecraft::measured_profiles_test
