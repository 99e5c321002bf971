#include "sim/workload/vit.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"

#include <doctest/doctest.h>

namespace stagecraft::vit_test {

// torchvision's num_params of ViT_B_16 and ViT_L_16 (IMAGENET1K_V1); ViT-H/14 at 224 pixels: vit_h_14 of torchvision.
TEST_CASE("vit: parameter counts equal the published ones") {
  CHECK(parameter_count(find_architecture("vit-b-16").value()) == 86'567'656);
  CHECK(parameter_count(find_architecture("vit-l-16").value()) == 304'326'632);
  CHECK(parameter_count(find_architecture("vit-h-14").value()) == 632'045'800);
}

// torchvision's "GFLOPS" of ViT_B_16, which are MACs, 17.56. By hand: patches 196 x 768 x 768, blocks of 197 tokens
// 12 h^2 and 2 x 197 h, the head 1000 h.
TEST_CASE("vit: forward operations are those of its products") {
  const std::int64_t h = 768;
  const std::int64_t macs = 196 * h * h + 12 * (197 * (12 * h * h + 394 * h)) + 1000 * h;
  CHECK(forward_flops(find_architecture("vit-b-16").value()).value() == static_cast<double>(2 * macs));
  CHECK(static_cast<double>(macs) == doctest::Approx(17.56e9).epsilon(0.005));
  CHECK(masked_flops(find_architecture("vit-b-16").value()).value() == 0);
}

// 197 tokens of 768, four bytes a value: stream and norm twice, queries, keys, values, output, GELU's input and output;
// eight bytes for each token and norm, four for each token and head.
TEST_CASE("vit: a block keeps what its operators need") {
  const LayerGraph graph =
      build_model(find_architecture("vit-b-16").value(), find_device("V100-SXM2-16GB").value(), 1, Granularity::Block)
          .profiles.at(0);
  REQUIRE(graph.layers.size() == 14);
  const Layer& block = graph.layers[LayerId(3)];
  CHECK(block.name == "block2");
  CHECK(block.stash == Bytes(std::int64_t{197} * (4 * 768 * (4 + 4 + 8) + 2 * 8 + 4 * 12)));
}

// An image of 384 pixels has 24 x 24 patches, and as many positions: 380 more rows of 768.
TEST_CASE("vit: a larger image has more positions") {
  CHECK(find_architecture("vit-b-16", 224) == find_architecture("vit-b-16"));
  CHECK(parameter_count(find_architecture("vit-b-16", 384).value()) == 86'567'656 + std::int64_t{380} * 768);
}

// Each of two blocks loses the biases of queries, keys and values; each pixel of a patch loses two of three channels.
TEST_CASE("vit: biases of queries, keys and values and the channels of the image are its parameters") {
  const VitSize size{.layers = 2, .hidden = 64, .heads = 4, .patch = 8, .image = 32};
  const std::int64_t whole = parameter_count(vit("v", size));
  VitSize other = size;
  other.qkv_bias = false;
  CHECK(parameter_count(vit("v", other)) == whole - std::int64_t{2} * 3 * 64);
  other = size;
  other.channels = 1;
  const Architecture grey = vit("v", other);
  CHECK(parameter_count(grey) == whole - std::int64_t{2} * 8 * 8 * 64);
  CHECK(grey.input_bytes == std::int64_t{4} * 32 * 32);
  CHECK(grey.summary.ends_with("image 32 of 1 channel"));
}

TEST_CASE("vit: sizes that do not fit together are refused") {
  CHECK_THROWS_WITH_AS(vit("v", {.hidden = 100}), "hidden must be a multiple of heads, found 100 and 12", InputError);
  CHECK_THROWS_WITH_AS(vit("v", {.patch = 32, .image = 31}), "a patch of 32 pixels does not fit in an image of 31",
                       InputError);
  CHECK_THROWS_AS(vit("v", {.layers = 0}), InputError);
  CHECK_THROWS_AS(vit("v", {.image = 2048}), InputError);
  CHECK_THROWS_AS(vit("v", {.channels = 0}), InputError);
}

}  // namespace stagecraft::vit_test
