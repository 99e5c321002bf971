#include "sim/workload/alexnet.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/image_draft.hpp"

#include <array>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kAlexnetPooledEdge = 6;  ///< torchvision's AdaptiveAvgPool2d((6, 6))

struct Step {
  ConvolutionSize convolution;
  bool pooled = false;
};

constexpr std::array<Step, 5> kSteps = {{
    {{64, {.extent = 11, .stride = 4, .padding = 2}, true}, true},
    {{192, same_square(5), true}, true},
    {{384, same_square(3), true}, false},
    {{256, same_square(3), true}, false},
    {{256, same_square(3), true}, true},
}};

ImageTensor add_step(ImageDraft& draft, const std::string& number, ImageTensor tensor, const Step& step) {
  begin_block(draft, "conv" + number);
  begin_layer(draft, "conv" + number, type_of(step.convolution, tensor));
  tensor = add_convolution(draft, "conv" + number, tensor, step.convolution);
  begin_layer(draft, "relu" + number, type_of("relu", tensor));
  tensor = add_relu(draft, "relu" + number, tensor);
  if (!step.pooled) return tensor;
  begin_layer(draft, "pool" + number);
  return add_max_pool(draft, "pool" + number, tensor, {.extent = 3, .stride = 2});
}

ImageTensor add_dense(ImageDraft& draft, const std::string& number, const ImageTensor& input, std::int64_t outputs) {
  begin_block(draft, "fc" + number);
  begin_layer(draft, "fc" + number);
  return add_linear(draft, "fc" + number, input, outputs);
}

ImageTensor add_activation(ImageDraft& draft, const std::string& number, const ImageTensor& input) {
  begin_layer(draft, "relu" + number);
  return add_relu(draft, "relu" + number, input);
}

void require_sound(const AlexnetSize& size) {
  if (size.hidden < 1 || size.classes < 1) throw InputError("every size of AlexNet must be at least 1");
  if (size.hidden > ImageLimits::kOutputs || size.classes > ImageLimits::kOutputs) {
    throw InputError("a size is larger than supported for AlexNet");
  }
}

}  // namespace

Architecture alexnet(const std::string& name, const AlexnetSize& size) {
  require_sound(size);
  ImageDraft draft = begin_draft(
      name, "AlexNet", "Krizhevsky, One weird trick for parallelizing convolutional neural networks, arXiv:1404.5997",
      size.image);
  ImageTensor tensor = input_of(draft);
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    tensor = add_step(draft, std::to_string(i + 1), tensor, kSteps.at(i));
  }
  tensor = add_adaptive_average(draft, "avgpool", tensor, kAlexnetPooledEdge);
  tensor = add_dense(draft, "6", add_dropout(draft, "drop6", tensor), size.hidden);
  tensor = add_activation(draft, "6", tensor);
  tensor = add_dense(draft, "7", add_dropout(draft, "drop7", tensor), size.hidden);
  tensor = add_activation(draft, "7", tensor);
  static_cast<void>(add_dense(draft, "8", tensor, size.classes));
  return std::move(draft.net);
}

}  // namespace stagecraft
