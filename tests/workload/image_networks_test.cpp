// Properties of every network for images: published counts, graphs, any image size.
#include "sim/base/error.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/image_catalogue.hpp"
#include "sim/workload/inception.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>

using namespace stagecraft;

namespace {

LayerGraph built(const Architecture& net, std::int64_t samples, Granularity granularity = Granularity::Layer) {
  return build_model(net, find_device("V100-SXM2-16GB").value(), samples, granularity).profiles.at(0);
}

bool is_chain(const LayerGraph& graph) {
  if (graph.edges.size() != graph.layers.size() - 1) return false;
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    if (graph.edges[i].from != LayerId(i) || graph.edges[i].to != LayerId(i + 1)) return false;
  }
  return true;
}

bool is_amoebanet(const ImageNetwork& known) { return std::string(known.name).starts_with("amoebanet"); }

bool is_vit(const ImageNetwork& known) { return std::string(known.name).starts_with("vit"); }

double macs(const Architecture& net) { return forward_flops(net).value() / 2; }

}  // namespace

// torchvision, weights IMAGENET1K_V1: num_params, and GFLOPS (which are multiply-accumulates) to two decimals, for
// AlexNet and VGG-16 of 0.71 and 15.47. Half a per cent is for what its counter counts beside products.
TEST_CASE("image networks: parameters and multiply-accumulates are the published ones") {
  struct Published {
    std::int64_t parameters;
    double giga_macs;
  };
  const std::map<std::string, Published> published = {
      {"alexnet", {61'100'840, 0.71}},    {"vgg16", {138'357'544, 15.47}},     {"vgg19", {143'667'240, 19.63}},
      {"resnet50", {25'557'032, 4.09}},   {"resnet101", {44'549'160, 7.80}},   {"resnet152", {60'192'808, 11.51}},
      {"densenet121", {7'978'856, 2.83}}, {"inception-v3", {27'161'264, 5.71}}};
  CHECK(image_networks().size() == published.size() + 5);  // AmoebaNet-D and ViT: amoebanet_test.cpp, vit_test.cpp
  for (const ImageNetwork& known : image_networks()) {
    CAPTURE(known.name);
    if (is_amoebanet(known) || is_vit(known)) continue;
    const Architecture net = known.make(known.name, known.usual_image);
    const Published& expected = published.at(known.name);
    CHECK(parameter_count(net) == expected.parameters);
    CHECK(std::abs(macs(net) / 1e9 - expected.giga_macs) <= 0.005 + 0.005 * expected.giga_macs);
  }
}

// torchvision's inception_v3 without `aux_logits`: 23,834,568 parameters; the head by hand: 768x128 + 2x128,
// 5x5x128x768
// + 2x768, 768x1000 + 1000.
TEST_CASE("image networks: Inception-v3 without its auxiliary head") {
  const Architecture bare = inception_v3("inception-v3", {.auxiliary = false});
  CHECK(parameter_count(bare) == 23'834'568);
  CHECK(parameter_count(bare) + 98'560 + 2'459'136 + 769'000 == 27'161'264);
  CHECK(std::abs(macs(bare) / 1e9 - 5.713) <= 0.005 * 5.713);
}

TEST_CASE("image networks: every layer makes one tensor, comes after what feeds it, and is fed") {
  for (const ImageNetwork& known : image_networks()) {
    for (const Granularity granularity : {Granularity::Layer, Granularity::Block}) {
      CAPTURE(known.name);
      const LayerGraph graph = built(known.make(known.name, known.usual_image), 2, granularity);
      std::set<LayerId> fed;
      for (const LayerEdge& edge : graph.edges) {
        CHECK(edge.from < edge.to);
        CHECK(edge.bytes == graph.layers[edge.from].output);
        fed.insert(edge.to);
      }
      CHECK(fed.size() == graph.layers.size() - 1);  // all but the first
    }
  }
}

// docs/reference/workloads.md, Layers: shortcuts, branches and dense connections stay inside a block.
TEST_CASE("image networks: chains of blocks; chains of layers only without shortcuts and branches") {
  const std::set<std::string> chains = {"alexnet", "vgg16", "vgg19", "vit-b-16", "vit-l-16", "vit-h-14"};
  for (const ImageNetwork& known : image_networks()) {
    CAPTURE(known.name);
    const Architecture net = known.make(known.name, known.usual_image);
    CHECK(is_chain(built(net, 2, Granularity::Block)) == !is_amoebanet(known));  // whose cells read two cells
    CHECK(is_chain(built(net, 2)) == chains.contains(known.name));
  }
}

// Residual blocks 3 + 4 + 6 + 3, eleven modules, 58 dense layers and three transitions; each with stem and head.
TEST_CASE("image networks: blocks are residual blocks, modules and dense layers") {
  const auto blocks = [](const char* name) {
    return built(find_architecture(name).value(), 1, Granularity::Block).layers.size();
  };
  CHECK(blocks("resnet50") == 16 + 2);
  CHECK(blocks("resnet101") == 33 + 2);
  CHECK(blocks("resnet152") == 50 + 2);
  CHECK(blocks("inception-v3") == 11 + 2);
  CHECK(blocks("densenet121") == 58 + 3 + 2);
  CHECK(blocks("vgg19") == 5 + 3);
  CHECK(blocks("alexnet") == 5 + 3);
}

TEST_CASE("image networks: a cut between blocks carries what it carries in the finer graph") {
  for (const ImageNetwork& known : image_networks()) {
    CAPTURE(known.name);
    const Architecture net = known.make(known.name, known.usual_image);
    const LayerGraph coarse = built(net, 2, Granularity::Block);
    const LayerGraph fine = built(net, 2);
    const std::vector<LayerId> order = canonical_order(fine);
    const std::vector<Bytes> cuts = cut_bytes(fine, order);
    std::map<std::string, Bytes> after;  // the cut after the last layer of each block
    std::map<std::string, std::string> block_of;
    for (const Operator& op : net.operators) block_of[op.layer] = op.block;
    for (std::size_t i = 0; i < cuts.size(); ++i) after[block_of.at(fine.layers[order[i]].name)] = cuts[i];
    const std::vector<LayerId> blocks = canonical_order(coarse);
    const std::vector<Bytes> coarse_cuts = cut_bytes(coarse, blocks);
    for (std::size_t i = 0; i < coarse_cuts.size(); ++i) {
      CHECK(coarse_cuts[i] == after.at(coarse.layers[blocks[i]].name));
    }
  }
}

// 64 and 224 are multiples of 32, so every stride and pooling halves evenly.
TEST_CASE("image networks: an image of twice the edge takes four times the products of convolutions") {
  for (const char* name : {"vgg19", "resnet50", "resnet152", "densenet121"}) {
    CAPTURE(name);
    const auto convolutions = [&](std::int64_t image) {
      std::int64_t sum = 0;
      const Architecture net = find_architecture(name, image).value();
      for (const Operator& op : net.operators) sum += op.kind == OperatorKind::Convolution ? op.macs : 0;
      return sum;
    };
    CHECK(convolutions(448) == 4 * convolutions(224));
    CHECK(convolutions(128) == 4 * convolutions(64));
  }
}

TEST_CASE("image networks: every one takes images of 1000 pixels, with the parameters it has") {
  for (const ImageNetwork& known : image_networks()) {
    CAPTURE(known.name);
    const Architecture large = known.make(known.name, 1000);
    CHECK(large.input_bytes == std::int64_t{3} * 1000 * 1000 * 4);
    const Architecture usual = known.make(known.name, known.usual_image);
    if (!is_vit(known)) CHECK(parameter_count(large) == parameter_count(usual));  // a ViT has more positions
    CHECK(macs(large) > macs(usual));
  }
}

// torchvision's `min_size` of AlexNet (63), DenseNet (29), VGG (32) and, without the auxiliary head, Inception-v3 (75);
// the paddings of ResNet and AmoebaNet leave a place of any image.
TEST_CASE("image networks: the smallest image of each, and none smaller") {
  const std::map<std::string, std::int64_t> smallest = {
      {"alexnet", 63},           {"vgg16", 32},       {"vgg19", 32},
      {"resnet50", 1},           {"resnet101", 1},    {"resnet152", 1},
      {"inception-v3", 299},     {"densenet121", 29}, {"amoebanet-d-18-208", 1},
      {"amoebanet-d-18-256", 1}, {"vit-b-16", 16},    {"vit-l-16", 16},
      {"vit-h-14", 14}};
  for (const ImageNetwork& known : image_networks()) {
    CAPTURE(known.name);
    CHECK_NOTHROW(static_cast<void>(known.make(known.name, smallest.at(known.name))));
    CHECK_THROWS_AS(static_cast<void>(known.make(known.name, smallest.at(known.name) - 1)), InputError);
    CHECK_THROWS_AS(static_cast<void>(known.make(known.name, 20'000)), InputError);
  }
  CHECK_NOTHROW(static_cast<void>(inception_v3("i", {.image = 75, .auxiliary = false})));
  CHECK_THROWS_AS(static_cast<void>(inception_v3("i", {.image = 74, .auxiliary = false})), InputError);
}

TEST_CASE("image networks: only a network for images can be asked for with an image") {
  CHECK(find_architecture("resnet50", 224) == find_architecture("resnet50"));
  CHECK(find_architecture("inception-v3", 299) == find_architecture("inception-v3"));
  CHECK_FALSE(find_architecture("bert-base", 224).has_value());
  CHECK_FALSE(find_architecture("resnet5", 224).has_value());
}
