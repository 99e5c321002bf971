#include "sim/model/layer_graph.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/paths.hpp"
#include "tests/workload/pipedream_profile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using namespace stagecraft;

namespace {

using test::Measured;

/// The modules with weights, poolings and activations, in the order of the network (that of their node numbers); the
/// input and the operators without any work left out.
std::vector<Measured> read_layers(const std::filesystem::path& path) {
  std::vector<Measured> nodes = test::read_pipedream_profile(path);
  std::erase_if(nodes, [](const Measured& node) {
    return node.module != "Conv2d" && node.module != "ReLU" && node.module != "MaxPool2d" && node.module != "Linear";
  });
  std::sort(nodes.begin(), nodes.end(), [](const Measured& a, const Measured& b) { return a.number < b.number; });
  return nodes;
}

}  // namespace

// PipeDream's vgg16 profile: V100 of 16 GB, PyTorch in fp32, minibatch 128 (its sizes are those of 128 samples). The
// cost model is not fitted to it; docs/explanation/cost-model.md reports the deviation.
TEST_CASE("workload: VGG-16 on a V100 comes near the measured profile of PipeDream") {
  const std::filesystem::path path =
      std::filesystem::path(STAGECRAFT_SHARED_DIR) / "profiles/pipedream/vgg16.graph.txt";
  if (!std::filesystem::exists(path)) {
    MESSAGE("SKIPPED: no measured profile at ", path.string());
    return;
  }
  const std::vector<Measured> measured = read_layers(path);
  const Model model = build_model(find_architecture("vgg16").value(), find_device("V100-SXM2-16GB").value(), 128);
  const LayerGraph& graph = model.profiles.at(0);
  REQUIRE(measured.size() == graph.layers.size());
  double forward = 0;
  double backward = 0;
  for (const LayerId id : indices(graph.layers)) {
    const Layer& layer = graph.layers[id];
    const Measured& real = measured[id.value()];
    CAPTURE(layer.name);
    CHECK(static_cast<double>(layer.parameters.value()) == doctest::Approx(real.parameters));
    CHECK(static_cast<double>(layer.output.value()) == doctest::Approx(real.activation));
    forward += real.forward * 1e-3;
    backward += real.backward * 1e-3;
    // layers that take long: within a factor of two, but for the first, which the profile measures at 22.3 ms for a
    // product of 22 Gflop and 1.7 GB of traffic
    if (real.forward > 1.0 && id.value() > 0) {
      CHECK(layer.forward.value() > 0.5e-3 * real.forward);
      CHECK(layer.forward.value() < 2.0e-3 * real.forward);
    }
  }
  const LayerTotals computed = totals(graph);
  MESSAGE("computed/measured forward ", computed.forward.value() / forward, ", backward ",
          computed.backward.value() / backward);
  CHECK(computed.forward.value() / forward > 0.7);
  CHECK(computed.forward.value() / forward < 1.3);
  CHECK(computed.backward.value() / backward > 0.7);
  CHECK(computed.backward.value() / backward < 1.3);
}
