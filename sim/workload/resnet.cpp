#include "sim/workload/resnet.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/image_draft.hpp"

#include <iterator>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kExpansion = 4;  ///< of a bottleneck's last convolution

/// One residual block: its place, the channels of its 3x3 convolutions and its stride.
struct BlockShape {
  std::string name;
  ResnetBlock kind = ResnetBlock::Bottleneck;
  std::int64_t width = 0;
  std::int64_t stride = 1;
  [[nodiscard]] std::int64_t channels() const { return kind == ResnetBlock::Bottleneck ? kExpansion * width : width; }
};

ImageTensor add_branch(ImageDraft& draft, const BlockShape& block, ImageTensor tensor) {
  const ConvolutionSize strided{block.width, same_square(3, block.stride)};
  if (block.kind == ResnetBlock::Basic) {
    tensor = add_conv_norm(draft, block.name + ".conv1", tensor, strided);
    return add_conv_norm(draft, block.name + ".conv2", tensor, {block.width, same_square(3)}, false);
  }
  tensor = add_conv_norm(draft, block.name + ".conv1", tensor, {block.width, same_square(1)});
  tensor = add_conv_norm(draft, block.name + ".conv2", tensor, strided);
  return add_conv_norm(draft, block.name + ".conv3", tensor, {block.channels(), same_square(1)}, false);
}

ImageTensor add_residual_block(ImageDraft& draft, const BlockShape& block, const ImageTensor& input) {
  const std::string kind = block.stride == 1 ? "residual" : "residual/" + std::to_string(block.stride);
  begin_block(draft, block.name, type_of(kind, input) + "-" + std::to_string(block.width));
  const ImageTensor branch = add_branch(draft, block, input);
  ImageTensor shortcut = input;
  if (block.stride != 1 || input.channels != block.channels()) {
    const ConvolutionSize projection{block.channels(), same_square(1, block.stride)};
    shortcut = add_conv_norm(draft, block.name + ".downsample", input, projection, false);
  }
  begin_layer(draft, block.name + ".add", type_of("add-relu", branch));
  const ImageTensor sum = add_sum(draft, block.name + ".add", branch, shortcut);
  draft.net.operators[sum.producer].ends_residual = true;
  return add_relu(draft, block.name + ".add.relu", sum);
}

void require_sound(const ResnetSize& size) {
  bool positive = size.width > 0 && size.classes > 0 && !size.blocks.empty();
  bool countable = size.width <= ResnetLimits::kWidth && size.classes <= ImageLimits::kOutputs &&
                   std::ssize(size.blocks) <= ResnetLimits::kGroups;
  for (const std::int64_t blocks : size.blocks) {
    positive = positive && blocks > 0;
    countable = countable && blocks <= ResnetLimits::kBlocks;
  }
  if (!positive) throw InputError("a residual network needs at least one group, and every size must be at least 1");
  if (!countable) throw InputError("a size is larger than supported for a residual network");
}

}  // namespace

Architecture resnet(const std::string& name, const ResnetSize& size) {
  require_sound(size);
  ImageDraft draft =
      begin_draft(name, "residual network",
                  "He et al., Deep Residual Learning for Image Recognition, CVPR 2016, arXiv:1512.03385", size.image);
  begin_block(draft, "stem");
  ImageTensor tensor = add_conv_norm(draft, "conv1", input_of(draft), {size.width, same_square(7, 2)});
  begin_layer(draft, "maxpool");
  tensor = add_max_pool(draft, "maxpool", tensor, same_square(3, 2));
  BlockShape block{.name = {}, .kind = size.block, .width = size.width};
  for (std::size_t group = 0; group < size.blocks.size(); ++group) {
    for (std::int64_t i = 0; i < size.blocks[group]; ++i) {
      block.name = "layer" + std::to_string(group + 1) + "." + std::to_string(i);
      block.stride = group > 0 && i == 0 ? 2 : 1;
      tensor = add_residual_block(draft, block, tensor);
    }
    block.width *= 2;
  }
  begin_block(draft, "head");
  begin_layer(draft, "avgpool");
  tensor = add_adaptive_average(draft, "avgpool", tensor, 1);
  begin_layer(draft, "fc");
  static_cast<void>(add_linear(draft, "fc", tensor, size.classes));
  return std::move(draft.net);
}

}  // namespace stagecraft
