#include "sim/workload/densenet.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/image_draft.hpp"

#include <iterator>
#include <utility>

namespace stagecraft {
namespace {

ImageTensor add_dense_layer(ImageDraft& draft, const std::string& name, const DensenetSize& size,
                            const ImageTensor& input) {
  begin_block(draft, name, type_of("dense", input));
  const ConvolutionSize squeeze{size.bottleneck * size.growth, same_square(1)};
  const ImageTensor narrow = add_norm_conv(draft, name + ".conv1", input, squeeze);
  const ImageTensor features = add_norm_conv(draft, name + ".conv2", narrow, {size.growth, same_square(3)});
  begin_layer(draft, name + ".concat");
  return add_concatenation(draft, name + ".concat", {input, features});
}

/// Halves the channels and the image.
ImageTensor add_transition(ImageDraft& draft, const std::string& name, const ImageTensor& input) {
  begin_block(draft, name);
  const ImageTensor tensor = add_norm_conv(draft, name + ".conv", input, {input.channels / 2, same_square(1)});
  begin_layer(draft, name + ".pool");
  return add_average_pool(draft, name + ".pool", tensor, {.extent = 2, .stride = 2});
}

ImageTensor add_stem(ImageDraft& draft, const DensenetSize& size) {
  begin_block(draft, "stem");
  const ImageTensor tensor = add_conv_norm(draft, "conv0", input_of(draft), {size.width, same_square(7, 2)});
  begin_layer(draft, "pool0");
  return add_max_pool(draft, "pool0", tensor, same_square(3, 2));
}

void add_head(ImageDraft& draft, const ImageTensor& input, std::int64_t classes) {
  begin_block(draft, "head");
  begin_layer(draft, "norm5");
  ImageTensor tensor = add_relu(draft, "norm5.relu", add_batch_norm(draft, "norm5.norm", input));
  tensor = add_adaptive_average(draft, "norm5.avgpool", tensor, 1);
  begin_layer(draft, "classifier");
  static_cast<void>(add_linear(draft, "classifier", tensor, classes));
}

void require_sound(const DensenetSize& size) {
  bool positive = size.growth > 0 && size.width > 1 && size.bottleneck > 0 && size.classes > 0 && !size.blocks.empty();
  bool countable = size.growth <= DensenetLimits::kGrowth && size.width <= DensenetLimits::kWidth &&
                   size.bottleneck <= DensenetLimits::kBottleneck && size.classes <= ImageLimits::kOutputs &&
                   std::ssize(size.blocks) <= DensenetLimits::kBlocks;
  for (const std::int64_t layers : size.blocks) {
    positive = positive && layers > 0;
    countable = countable && layers <= DensenetLimits::kLayers;
  }
  if (!positive) throw InputError("a DenseNet needs at least one block, a width of 2, and sizes of at least 1");
  if (!countable) throw InputError("a size is larger than supported for a DenseNet");
}

}  // namespace

Architecture densenet(const std::string& name, const DensenetSize& size) {
  require_sound(size);
  ImageDraft draft =
      begin_draft(name, "DenseNet",
                  "Huang et al., Densely Connected Convolutional Networks, CVPR 2017, arXiv:1608.06993", size.image);
  ImageTensor tensor = add_stem(draft, size);
  for (std::size_t b = 0; b < size.blocks.size(); ++b) {
    const std::string number = std::to_string(b + 1);
    for (std::int64_t i = 1; i <= size.blocks[b]; ++i) {
      tensor = add_dense_layer(draft, "denseblock" + number + ".denselayer" + std::to_string(i), size, tensor);
    }
    if (b + 1 < size.blocks.size()) tensor = add_transition(draft, "transition" + number, tensor);
  }
  add_head(draft, tensor, size.classes);
  return std::move(draft.net);
}

}  // namespace stagecraft
