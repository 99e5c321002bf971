#include "experiments/run/chosen_degrees.hpp"

#include "experiments/run/degrees_text.hpp"
#include "experiments/run/inputs.hpp"
#include "sim/model/platform.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace stagecraft {
namespace {

using Counts = std::vector<std::int64_t>;

// Four nodes of eight devices.
TEST_CASE("tensor degrees: groups fill nodes, with the context and expert degrees that are given") {
  const Platform platform = build_platform(load_platform_spec("dgx-a100-80gb-x4"));
  CHECK(tensor_degrees(platform) == Counts{1, 2, 4, 8});
  CHECK(tensor_degrees(platform, {.context = 2}) == Counts{1, 2, 4});
  CHECK(tensor_degrees(platform, {.context = 8}) == Counts{1});
  CHECK(tensor_degrees(platform, {.expert = 8}) == Counts{1, 2, 4, 8});
  CHECK(tensor_degrees(platform, {.context = 2, .expert = 4}) == Counts{1, 2, 4});
  CHECK(tensor_degrees(platform, {.context = 3}).empty());
  CHECK(tensor_degrees(platform, {.expert = 3}).empty());
}

TEST_CASE("tensor degrees: groups that are larger than a node divide the platform") {
  const Platform platform = build_platform(load_platform_spec("dgx-a100-80gb-x4"));
  CHECK(tensor_degrees(platform, {.expert = 32}) == Counts{1, 2, 4, 8});
  CHECK(tensor_degrees(platform, {.context = 16}) == Counts{1, 2});
  CHECK(tensor_degrees(platform, {.expert = 64}).empty());
}

TEST_CASE("degrees: a text says what divides a group") {
  CHECK(on_groups_text({}).empty());
  CHECK(on_groups_text({.tensor = 4}) == " on tensor groups of 4");
  CHECK(on_groups_text({.tensor = 4, .sequence = false}) == " on tensor groups of 4 without sequence parallelism");
  CHECK(on_groups_text({.tensor = 4, .context = 2}) ==
        " on groups of 8 devices (tensor 4, context 2 with ring attention)");
  CHECK(on_groups_text({.tensor = 2, .sequence = false, .context = 2, .attention = ContextAttention::AllToAll}) ==
        " on groups of 4 devices (tensor 2 without sequence parallelism, context 2 with all-to-all attention)");
  CHECK(on_groups_text({.expert = 8}) == " on groups of 8 devices (expert 8)");
  CHECK(on_groups_text({.tensor = 8, .expert = 8, .imbalance = 1.25}) ==
        " on groups of 8 devices (tensor 8, expert 8 with imbalance 1.25)");
  CHECK(microbatch_text(2, {.tensor = 8, .expert = 8}) == "2 samples");
  CHECK(microbatch_text(1, {.tensor = 2, .expert = 8}) == "4 x 1 sample");
}

}  // namespace
}  // namespace stagecraft
