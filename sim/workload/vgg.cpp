#include "sim/workload/vgg.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/image_draft.hpp"

#include <algorithm>
#include <iterator>

namespace stagecraft {
namespace {

constexpr std::int64_t kVggPooledEdge = 7;  ///< torchvision's AdaptiveAvgPool2d((7, 7))

void require_positive(const VggSize& size) {
  bool positive = size.image > 0 && size.hidden > 0 && size.classes > 0 && !size.blocks.empty();
  for (const auto& block : size.blocks) {
    positive = positive && !block.empty();
    for (const std::int64_t channels : block) positive = positive && channels > 0;
  }
  if (!positive) throw InputError("a VGG network needs at least one block, and every size must be at least 1");
  bool countable = size.image <= ImageLimits::kPixels && size.hidden <= ImageLimits::kOutputs &&
                   size.classes <= ImageLimits::kOutputs;
  for (const auto& block : size.blocks) {
    countable =
        countable && std::ssize(block) <= VggLimits::kConvolutions && std::ranges::max(block) <= VggLimits::kChannels;
  }
  if (!countable) throw InputError("a size is larger than supported for a VGG network");
}

/// A convolution and its ReLU, two layers.
ImageTensor add_step(ImageDraft& draft, const std::string& place, const ImageTensor& input, std::int64_t channels) {
  const ConvolutionSize convolution{channels, same_square(3), true};
  begin_layer(draft, "conv" + place, type_of(convolution, input));
  const ImageTensor tensor = add_convolution(draft, "conv" + place, input, convolution);
  begin_layer(draft, "relu" + place, type_of("relu", tensor));
  return add_relu(draft, "relu" + place, tensor);
}

}  // namespace

Architecture vgg(const std::string& name, const VggSize& size) {
  require_positive(size);
  ImageDraft draft = begin_draft(
      name, "VGG",
      "Simonyan and Zisserman, Very Deep Convolutional Networks for Large-Scale Image Recognition, ICLR 2015",
      size.image);
  ImageTensor tensor = input_of(draft);
  for (std::size_t b = 0; b < size.blocks.size(); ++b) {
    const std::string number = std::to_string(b + 1);
    begin_block(draft, "conv" + number);
    for (std::size_t c = 0; c < size.blocks[b].size(); ++c) {
      tensor = add_step(draft, number + "_" + std::to_string(c + 1), tensor, size.blocks[b][c]);
    }
    begin_layer(draft, "pool" + number);
    tensor = add_max_pool(draft, "pool" + number, tensor, {.extent = 2, .stride = 2});
  }
  tensor = add_adaptive_average(draft, "avgpool", tensor, kVggPooledEdge);
  for (const std::string place : {"6", "7"}) {
    begin_block(draft, "fc" + place);
    begin_layer(draft, "fc" + place);
    tensor = add_linear(draft, "fc" + place, tensor, size.hidden);
    begin_layer(draft, "relu" + place, type_of("relu", tensor));
    tensor = add_relu(draft, "relu" + place, tensor);
    tensor = add_dropout(draft, "drop" + place, tensor);
  }
  begin_block(draft, "fc8");
  begin_layer(draft, "fc8");
  static_cast<void>(add_linear(draft, "fc8", tensor, size.classes));
  return std::move(draft.net);
}

VggSize vgg16_size() { return {.blocks = {{64, 64}, {128, 128}, {256, 256, 256}, {512, 512, 512}, {512, 512, 512}}}; }

VggSize vgg19_size() {
  return {.blocks = {{64, 64}, {128, 128}, {256, 256, 256, 256}, {512, 512, 512, 512}, {512, 512, 512, 512}}};
}

}  // namespace stagecraft
