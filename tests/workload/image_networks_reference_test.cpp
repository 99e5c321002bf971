// The networks for images beside PipeDream's measured profiles of them: V100 of 16 GB, PyTorch in fp32. The cost model
// is not fitted to them; docs/explanation/cost-model.md reports the deviations.
#include "sim/model/layer_graph.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/paths.hpp"
#include "tests/workload/pipedream_profile.hpp"

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

using namespace stagecraft;

namespace {

struct Profile {
  const char* file;
  const char* network;
  std::int64_t minibatch;  ///< from the size of the input
};

constexpr auto kProfiles = std::to_array<Profile>({{"alexnet", "alexnet", 256},
                                                   {"resnet50", "resnet50", 128},
                                                   {"resnet101", "resnet101", 64},
                                                   {"inception_v3", "inception-v3", 128},
                                                   {"densenet121", "densenet121", 64}});

/// The module that PipeDream would have measured; pooling to a fixed size is an average pooling there.
std::string module_of(const Operator& op) {
  const bool average = op.name.find("avgpool") != std::string::npos;
  if (op.kind == OperatorKind::Convolution) return "Conv2d";
  if (op.kind == OperatorKind::Linear) return "Linear";
  if (op.kind == OperatorKind::Normalization) return "BatchNorm2d";
  if (op.kind == OperatorKind::Pooling && !average) return op.saved_bytes > 0 ? "MaxPool2d" : "AvgPool2d";
  if (op.name.ends_with(".concat")) return "Concat";
  if (op.name.ends_with(".add")) return "Add";
  if (op.saves_output) return "ReLU";
  return average ? "AvgPool2d" : "Dropout";
}

struct Sum {
  int count = 0;
  double output = 0;
  double parameters = 0;
};

/// The measured sums of each module for a minibatch; activations of the profile are outputs.
std::map<std::string, Sum> measured_sums(const std::vector<test::Measured>& nodes) {
  std::map<std::string, Sum> sums;
  for (const test::Measured& node : nodes) {
    Sum& sum = sums[node.module];
    ++sum.count;
    sum.output += node.activation;
    sum.parameters += node.parameters;
  }
  return sums;
}

std::map<std::string, Sum> computed_sums(const Architecture& net, std::int64_t samples) {
  std::map<std::string, Sum> sums;
  for (const Operator& op : net.operators) {
    Sum& sum = sums[module_of(op)];
    ++sum.count;
    sum.output += 4.0 * static_cast<double>(op.output_values * samples);
    sum.parameters += 4.0 * static_cast<double>(op.parameters);
  }
  return sums;
}

std::vector<test::Measured> profile_of(const Profile& profile) {
  const auto folder = std::filesystem::path(STAGECRAFT_SHARED_DIR) / "profiles/pipedream";
  return test::read_pipedream_profile(folder / (std::string(profile.file) + ".graph.txt"));
}

}  // namespace

TEST_CASE("workload: networks for images have the modules, outputs and parameters of PipeDream's profiles") {
  for (const Profile& profile : kProfiles) {
    CAPTURE(profile.file);
    const std::vector<test::Measured> nodes = profile_of(profile);
    if (nodes.empty()) {
      MESSAGE("SKIPPED: no measured profile of ", std::string(profile.file));
      continue;
    }
    const auto measured = measured_sums(nodes);
    const auto computed = computed_sums(find_architecture(profile.network).value(), profile.minibatch);
    for (const char* module : {"Conv2d", "BatchNorm2d", "ReLU", "Add", "Concat", "MaxPool2d", "Linear"}) {
      CAPTURE(module);
      REQUIRE(measured.contains(module) == computed.contains(module));
      if (!measured.contains(module)) continue;
      CHECK(computed.at(module).count == measured.at(module).count);
      CHECK(computed.at(module).output == doctest::Approx(measured.at(module).output).epsilon(1e-12));
      CHECK(computed.at(module).parameters == doctest::Approx(measured.at(module).parameters).epsilon(1e-12));
    }
  }
}

// The bounds are those of docs/explanation/cost-model.md: the profiler's synchronisation adds 0.25 ms or more to every
// forward operator, which is most of the time of networks with hundreds of short ones.
TEST_CASE("workload: networks for images take 0.55 to 1.1 of the times of PipeDream's profiles") {
  for (const Profile& profile : kProfiles) {
    const std::vector<test::Measured> nodes = profile_of(profile);
    if (nodes.empty()) {
      MESSAGE("SKIPPED: no measured profile of ", std::string(profile.file));
      continue;
    }
    double forward = 0;
    double backward = 0;
    int timed = 0;
    for (const test::Measured& node : nodes) {
      if (node.module == "Input") continue;
      forward += 1e-3 * node.forward;
      backward += 1e-3 * node.backward;
      timed += node.forward > 0 ? 1 : 0;
    }
    const auto network = find_architecture(profile.network).value();
    const auto device = find_device("V100-SXM2-16GB").value();
    const LayerTotals computed = totals(build_model(network, device, profile.minibatch).profiles.at(0));
    const double synchronised = forward - 0.25e-3 * timed;
    const double ratio = (computed.forward + computed.backward).value() / (forward + backward);
    MESSAGE(std::string(profile.file), ": measured forward ", forward, " s (", synchronised,
            " less 0.25 ms an operator), backward ", backward, " s; computed ", computed.forward.value(), ", ",
            computed.backward.value(), "; ratio ", ratio);
    CHECK(ratio > 0.55);
    CHECK(ratio < 1.1);
    CHECK(computed.forward.value() / synchronised > 0.6);
    CHECK(computed.forward.value() / synchronised < 1.15);
  }
}
