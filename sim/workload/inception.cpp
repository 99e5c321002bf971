#include "sim/workload/inception.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/image_draft.hpp"

#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr Window kHalving{.extent = 3, .stride = 2};

/// A branch of a module: convolutions one after the other, named after the module and the branch.
struct Branch {
  std::string name;
  std::vector<ConvolutionSize> steps;
};

ImageTensor add_branch(ImageDraft& draft, const Branch& branch, ImageTensor tensor) {
  for (std::size_t i = 0; i < branch.steps.size(); ++i) {
    const std::string number = branch.steps.size() == 1 ? "" : "_" + std::to_string(i + 1);
    tensor = add_conv_norm(draft, branch.name + number, tensor, branch.steps[i]);
  }
  return tensor;
}

ImageTensor add_joint(ImageDraft& draft, const std::string& name, const std::vector<ImageTensor>& terms) {
  begin_layer(draft, name);
  return add_concatenation(draft, name, terms);
}

/// A 3x3 average that keeps the shape, then a 1x1 convolution.
ImageTensor add_pooled_branch(ImageDraft& draft, const std::string& module, const ImageTensor& input,
                              std::int64_t channels) {
  begin_layer(draft, module + ".pool", type_of("average3", input));
  const ImageTensor average = add_average_pool(draft, module + ".pool", input, same_square(3));
  return add_conv_norm(draft, module + ".branch_pool", average, {channels, same_square(1)});
}

ImageTensor add_max_branch(ImageDraft& draft, const std::string& module, const ImageTensor& input) {
  begin_layer(draft, module + ".pool");
  return add_max_pool(draft, module + ".pool", input, kHalving);
}

/// The module of figure 5 of the paper: 1x1, 5x5, twice 3x3, pooling.
ImageTensor add_module_a(ImageDraft& draft, const std::string& module, const ImageTensor& input, std::int64_t pooled) {
  begin_block(draft, module);
  const ImageTensor a = add_branch(draft, {module + ".branch1x1", {{64, same_square(1)}}}, input);
  const ImageTensor b = add_branch(draft, {module + ".branch5x5", {{48, same_square(1)}, {64, same_square(5)}}}, input);
  const ImageTensor c = add_branch(
      draft, {module + ".branch3x3dbl", {{64, same_square(1)}, {96, same_square(3)}, {96, same_square(3)}}}, input);
  const ImageTensor d = add_pooled_branch(draft, module, input, pooled);
  return add_joint(draft, module + ".concat", {a, b, c, d});
}

/// From 35x35 to 17x17 places.
ImageTensor add_module_b(ImageDraft& draft, const std::string& module, const ImageTensor& input) {
  begin_block(draft, module);
  const ImageTensor a = add_branch(draft, {module + ".branch3x3", {{384, kHalving}}}, input);
  const ImageTensor b = add_branch(
      draft, {module + ".branch3x3dbl", {{64, same_square(1)}, {96, same_square(3)}, {96, kHalving}}}, input);
  return add_joint(draft, module + ".concat", {a, b, add_max_branch(draft, module, input)});
}

/// The module of figure 6: 7x7 convolutions as pairs of lines; `inner` is the channels between them.
ImageTensor add_module_c(ImageDraft& draft, const std::string& module, const ImageTensor& input, std::int64_t inner) {
  begin_block(draft, module);
  const ConvolutionSize narrow{inner, same_square(1)};
  const ConvolutionSize line{inner, same_line(7)};
  const ConvolutionSize last{192, same_line(7)};
  const ImageTensor a = add_branch(draft, {module + ".branch1x1", {{192, same_square(1)}}}, input);
  const ImageTensor b = add_branch(draft, {module + ".branch7x7", {narrow, line, last}}, input);
  const ImageTensor c = add_branch(draft, {module + ".branch7x7dbl", {narrow, line, line, line, last}}, input);
  const ImageTensor d = add_pooled_branch(draft, module, input, 192);
  return add_joint(draft, module + ".concat", {a, b, c, d});
}

/// From 17x17 to 8x8 places.
ImageTensor add_module_d(ImageDraft& draft, const std::string& module, const ImageTensor& input) {
  begin_block(draft, module);
  const ConvolutionSize narrow{192, same_square(1)};
  const ConvolutionSize line{192, same_line(7)};
  const ImageTensor a = add_branch(draft, {module + ".branch3x3", {narrow, {320, kHalving}}}, input);
  const ImageTensor b = add_branch(draft, {module + ".branch7x7x3", {narrow, line, line, {192, kHalving}}}, input);
  return add_joint(draft, module + ".concat", {a, b, add_max_branch(draft, module, input)});
}

/// A 1x3 and a 3x1 convolution side by side.
ImageTensor add_split(ImageDraft& draft, const std::string& branch, const ImageTensor& input) {
  const ImageTensor a = add_conv_norm(draft, branch + "a", input, {384, same_line(3)});
  const ImageTensor b = add_conv_norm(draft, branch + "b", input, {384, same_line(3)});
  return add_joint(draft, branch + ".concat", {a, b});
}

/// The module of figure 7, whose branches widen at their ends.
ImageTensor add_module_e(ImageDraft& draft, const std::string& module, const ImageTensor& input) {
  begin_block(draft, module);
  const ImageTensor a = add_branch(draft, {module + ".branch1x1", {{320, same_square(1)}}}, input);
  const ImageTensor b = add_split(draft, module + ".branch3x3_2",
                                  add_conv_norm(draft, module + ".branch3x3_1", input, {384, same_square(1)}));
  const ImageTensor c =
      add_split(draft, module + ".branch3x3dbl_3",
                add_branch(draft, {module + ".branch3x3dbl", {{448, same_square(1)}, {384, same_square(3)}}}, input));
  const ImageTensor d = add_pooled_branch(draft, module, input, 192);
  return add_joint(draft, module + ".concat", {a, b, c, d});
}

ImageTensor add_stem(ImageDraft& draft) {
  begin_block(draft, "stem");
  ImageTensor tensor = add_conv_norm(draft, "Conv2d_1a_3x3", input_of(draft), {32, kHalving});
  tensor = add_conv_norm(draft, "Conv2d_2a_3x3", tensor, {32, {.extent = 3}});
  tensor = add_conv_norm(draft, "Conv2d_2b_3x3", tensor, {64, same_square(3)});
  begin_layer(draft, "maxpool1");
  tensor = add_max_pool(draft, "maxpool1", tensor, kHalving);
  tensor = add_conv_norm(draft, "Conv2d_3b_1x1", tensor, {80, same_square(1)});
  tensor = add_conv_norm(draft, "Conv2d_4a_3x3", tensor, {192, {.extent = 3}});
  begin_layer(draft, "maxpool2");
  return add_max_pool(draft, "maxpool2", tensor, kHalving);
}

/// Operators of the block of the module it reads.
void add_auxiliary_head(ImageDraft& draft, const ImageTensor& input, std::int64_t classes) {
  begin_layer(draft, "AuxLogits.pool");
  ImageTensor tensor = add_average_pool(draft, "AuxLogits.pool", input, {.extent = 5, .stride = 3});
  tensor = add_conv_norm(draft, "AuxLogits.conv0", tensor, {128, same_square(1)});
  tensor = add_conv_norm(draft, "AuxLogits.conv1", tensor, {768, {.extent = 5}});
  begin_layer(draft, "AuxLogits.fc");
  tensor = add_adaptive_average(draft, "AuxLogits.avgpool", tensor, 1);
  static_cast<void>(add_linear(draft, "AuxLogits.fc", tensor, classes));
}

ImageTensor add_modules(ImageDraft& draft, const InceptionSize& size, ImageTensor tensor) {
  tensor = add_module_a(draft, "Mixed_5b", tensor, 32);
  tensor = add_module_a(draft, "Mixed_5c", tensor, 64);
  tensor = add_module_a(draft, "Mixed_5d", tensor, 64);
  tensor = add_module_b(draft, "Mixed_6a", tensor);
  tensor = add_module_c(draft, "Mixed_6b", tensor, 128);
  tensor = add_module_c(draft, "Mixed_6c", tensor, 160);
  tensor = add_module_c(draft, "Mixed_6d", tensor, 160);
  tensor = add_module_c(draft, "Mixed_6e", tensor, 192);
  if (size.auxiliary) add_auxiliary_head(draft, tensor, size.classes);
  tensor = add_module_d(draft, "Mixed_7a", tensor);
  tensor = add_module_e(draft, "Mixed_7b", tensor);
  return add_module_e(draft, "Mixed_7c", tensor);
}

}  // namespace

Architecture inception_v3(const std::string& name, const InceptionSize& size) {
  if (size.classes < 1 || size.classes > ImageLimits::kOutputs) {
    throw InputError("Inception-v3 has from 1 to " + std::to_string(ImageLimits::kOutputs) + " classes");
  }
  ImageDraft draft = begin_draft(
      name, size.auxiliary ? "Inception-v3" : "Inception-v3 without its auxiliary head",
      "Szegedy et al., Rethinking the Inception Architecture for Computer Vision, CVPR 2016, arXiv:1512.00567",
      size.image);
  ImageTensor tensor = add_modules(draft, size, add_stem(draft));
  begin_block(draft, "head");
  begin_layer(draft, "avgpool");
  tensor = add_dropout(draft, "dropout", add_adaptive_average(draft, "avgpool", tensor, 1));
  begin_layer(draft, "fc");
  static_cast<void>(add_linear(draft, "fc", tensor, size.classes));
  return std::move(draft.net);
}

}  // namespace stagecraft
