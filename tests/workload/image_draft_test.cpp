#include "sim/workload/image_draft.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/densenet.hpp"
#include "sim/workload/inception.hpp"
#include "sim/workload/operator_cost.hpp"
#include "sim/workload/resnet.hpp"
#include "tests/workload/group_networks.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace stagecraft;

namespace {

ImageDraft draft_at(std::int64_t image) {
  ImageDraft draft = begin_draft("net", "net", "", image);
  begin_block(draft, "block");
  begin_layer(draft, "layer");
  return draft;
}

/// The edge of what a window leaves of an image.
std::int64_t edge_after(std::int64_t image, const Window& window) {
  ImageDraft draft = draft_at(image);
  return add_convolution(draft, "conv", input_of(draft), {1, window}).edge;
}

const Operator& find_operator(const Architecture& net, const std::string& name) {
  for (const Operator& op : net.operators) {
    if (op.name == name) return op;
  }
  FAIL("no operator ", name);
  return net.operators.back();
}

/// Bytes that the backward of a network needs, each tensor once wherever it lies, for one sample in fp32.
std::int64_t kept_once(const Architecture& net) {
  std::set<OperatorId> tensors;
  std::int64_t bytes = 0;
  for (const OperatorId id : indices(net.operators)) {
    const Operator& op = net.operators[id];
    if (op.saves_input) tensors.insert(op.inputs.begin(), op.inputs.end());
    if (op.saves_output) tensors.insert(id);
    bytes += op.saved_bytes;
  }
  for (const OperatorId id : tensors) bytes += id.is_none() ? net.input_bytes : 4 * net.operators[id].output_values;
  return bytes;
}

}  // namespace

// places = floor((edge + 2 padding - extent) / stride) + 1
TEST_CASE("image draft: windows leave the places of the textbook formula") {
  CHECK(edge_after(224, same_square(7, 2)) == 112);                         // (224 + 6 - 7) / 2 + 1 = 111.5 + 1
  CHECK(edge_after(224, {.extent = 11, .stride = 4, .padding = 2}) == 55);  // (224 + 4 - 11) / 4 + 1 = 54.25 + 1
  CHECK(edge_after(299, {.extent = 3, .stride = 2}) == 149);                // (299 - 3) / 2 + 1
  CHECK(edge_after(149, {.extent = 3}) == 147);                             // (149 - 3) / 1 + 1
  CHECK(edge_after(35, same_square(3)) == 35);
  CHECK(edge_after(17, same_line(7)) == 17);
  CHECK(edge_after(3, {.extent = 3, .stride = 2}) == 1);
  CHECK_THROWS_WITH_AS(edge_after(2, {.extent = 3, .stride = 2}),
                       "an image of 2 pixels is too small: conv needs an edge of at least 3 pixels, found 2",
                       InputError);
}

TEST_CASE("image draft: a line has the weights of its length, a square those of its area") {
  ImageDraft draft = draft_at(17);
  const ImageTensor square = add_convolution(draft, "square", input_of(draft), {8, same_square(7), true});
  const ImageTensor line = add_convolution(draft, "line", square, {4, same_line(7)});
  CHECK(draft.net.operators[square.producer].parameters == 7 * 7 * 3 * 8 + 8);
  CHECK(draft.net.operators[square.producer].macs == std::int64_t{7} * 7 * 3 * 8 * 17 * 17);
  CHECK(draft.net.operators[line.producer].parameters == 7 * 8 * 4);
  CHECK(draft.net.operators[line.producer].macs == 7 * 8 * 4 * 17 * 17);
}

TEST_CASE("image draft: only a 3x3 square at stride 1 may use Winograd's tiles") {
  ImageDraft draft = draft_at(14);
  const auto expansion = [&](const Window& window) {
    const ImageTensor made = add_convolution(draft, "conv", input_of(draft), {8, window});
    return draft.net.operators[made.producer].kernel.winograd_expansion;
  };
  CHECK(expansion(same_square(3)) ==
        doctest::Approx(36.0 * 4 * 4 / (14 * 14)).epsilon(1e-12));  // 4x4 tiles cover 14x14
  CHECK(expansion(same_square(3, 2)) == 0);
  CHECK(expansion(same_square(1)) == 0);
  CHECK(expansion(same_square(5)) == 0);
  CHECK(expansion(same_line(3)) == 0);
}

// Batch normalisation: forward two reads and one write; backward two reads of the input and of the gradient, one write.
TEST_CASE("image draft: batch normalisation moves three tensors forward and five backward") {
  const Architecture net = find_architecture("resnet50").value();
  const DeviceDescription device = find_device("V100-SXM2-16GB").value();
  const Operator& norm = find_operator(net, "layer1.0.conv3.norm");
  const OperatorCost cost = operator_cost(norm, device, Precision::Fp32, 32);
  const double tensor = 32.0 * 256 * 56 * 56 * 4;
  const double rate = 900e9 * 0.8;
  CHECK(cost.forward.value() == doctest::Approx(3 * tensor / rate + 5e-6).epsilon(1e-12));
  CHECK(cost.backward_input.value() == doctest::Approx(5 * tensor / rate + 5e-6).epsilon(1e-12));
  CHECK(norm.parameters == 2 * 256);
}

TEST_CASE("image draft: a residual addition reads two tensors, keeps its ReLU's output and passes one on") {
  const LayerGraph graph =
      build_model(find_architecture("resnet50").value(), find_device("V100-SXM2-16GB").value(), 2).profiles.at(0);
  const Bytes tensor(std::int64_t{2} * 256 * 56 * 56 * 4);
  const Layer& sum = group_networks::layer_of(graph, "layer1.1.add");
  CHECK(sum.output == tensor);
  CHECK(sum.stash == tensor);
  CHECK(sum.parameters == Bytes(0));
  std::multiset<std::string> feeding;
  for (const LayerEdge& edge : graph.edges) {
    if (graph.layers[edge.to].name == "layer1.1.add") feeding.insert(graph.layers[edge.from].name);
  }
  CHECK(feeding == std::multiset<std::string>{"layer1.0.add", "layer1.1.conv3"});
}

// Channels after each dense block of DenseNet-121: 64 + 6 x 32 = 256, halved 128; + 12 x 32 = 512, 256; + 24 x 32 =
// 1024, 512; + 16 x 32 = 1024 on 56, 28, 14 and 7 pixels. Torchvision's classifier reads 1024.
TEST_CASE("image draft: dense blocks grow by 32 channels a layer and transitions halve them") {
  const Architecture net = find_architecture("densenet121").value();
  const auto values = [&](const std::string& name) { return find_operator(net, name).output_values; };
  CHECK(values("denseblock1.denselayer6.concat") == 256 * 56 * 56);
  CHECK(values("transition1.pool") == 128 * 28 * 28);
  CHECK(values("denseblock2.denselayer12.concat") == 512 * 28 * 28);
  CHECK(values("denseblock3.denselayer24.concat") == 1024 * 14 * 14);
  CHECK(values("denseblock4.denselayer16.concat") == 1024 * 7 * 7);
  CHECK(values("norm5.avgpool") == 1024);
  CHECK(find_operator(net, "denseblock2.denselayer1.concat").input_values == (128 + 32) * 28 * 28);
}

// Szegedy et al., table 1: 35x35x288, 17x17x768, 8x8x1280 and 8x8x2048 between the modules.
TEST_CASE("image draft: Inception's modules pass on the tensors of the paper's table") {
  const Architecture net = inception_v3("i", {});
  const auto values = [&](const std::string& module) { return find_operator(net, module + ".concat").output_values; };
  CHECK(values("Mixed_5b") == 256 * 35 * 35);
  CHECK(values("Mixed_5d") == 288 * 35 * 35);
  CHECK(values("Mixed_6a") == 768 * 17 * 17);
  CHECK(values("Mixed_6e") == 768 * 17 * 17);
  CHECK(values("Mixed_7a") == 1280 * 8 * 8);
  CHECK(values("Mixed_7c") == 2048 * 8 * 8);
}

// torchvision, weights IMAGENET1K_V1 of resnet18, resnet34, densenet169 and densenet161.
TEST_CASE("image draft: relatives of the known networks have their published parameters") {
  const auto basic = [](std::vector<std::int64_t> blocks) {
    return parameter_count(resnet("r", {.blocks = std::move(blocks), .block = ResnetBlock::Basic}));
  };
  CHECK(basic({2, 2, 2, 2}) == 11'689'512);
  CHECK(basic({3, 4, 6, 3}) == 21'797'672);
  CHECK(parameter_count(densenet("d", {.blocks = {6, 12, 32, 32}})) == 14'149'480);
  CHECK(parameter_count(densenet("d", {.blocks = {6, 12, 36, 24}, .growth = 48, .width = 96})) == 28'681'000);
}

// As docs/explanation/cost-model.md says, a tensor that two layers keep counts at both.
TEST_CASE("image draft: ResNet-50's layers together keep 1.52 times what one device keeps, its blocks 1.26 times") {
  const Architecture net = find_architecture("resnet50").value();
  const DeviceDescription device = find_device("V100-SXM2-16GB").value();
  const auto once = static_cast<double>(kept_once(net));
  const auto sum = [&](Granularity granularity) {
    return static_cast<double>(totals(build_model(net, device, 1, granularity).profiles.at(0)).stash.value());
  };
  CHECK(sum(Granularity::Layer) / once == doctest::Approx(1.52).epsilon(0.005));
  CHECK(sum(Granularity::Block) / once == doctest::Approx(1.26).epsilon(0.005));
}

TEST_CASE("image draft: sizes that no network can have are refused") {
  CHECK_THROWS_AS(resnet("r", {.blocks = {}}), InputError);
  CHECK_THROWS_AS(resnet("r", {.blocks = {3, 0}}), InputError);
  CHECK_THROWS_AS(resnet("r", {.blocks = {3}, .width = 5000}), InputError);
  CHECK_THROWS_AS(resnet("r", {.blocks = {3}, .image = 0}), InputError);
  CHECK_THROWS_AS(densenet("d", {.blocks = {6}, .width = 1}), InputError);
  CHECK_THROWS_AS(densenet("d", {.blocks = {300}}), InputError);
  CHECK_THROWS_AS(inception_v3("i", {.classes = 0}), InputError);
}
