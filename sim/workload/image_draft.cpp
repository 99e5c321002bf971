#include "sim/workload/image_draft.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/draft.hpp"

#include <fmt/core.h>

#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kValueBytes = 4;
constexpr std::int64_t kPoolIndexBytes = 8;  ///< PyTorch keeps 64-bit indices of the maxima

/// An operator on one tensor that gives one of the same shape; the functions below change what differs.
Operator operator_on(const ImageTensor& input) {
  Operator op;
  op.inputs = {input.producer};
  op.input_values = op.output_values = input.values();
  return op;
}

ImageTensor append(ImageDraft& draft, const std::string& name, Operator op, ImageTensor output) {
  op.name = name;
  op.layer = draft.layer;
  op.layer_type = draft.layer_type;
  op.block = draft.block;
  op.block_type = draft.block_type;
  op.output_values = output.values();
  output.producer = draft.net.operators.push_back(std::move(op));
  return output;
}

/// How many places a window has along an edge.
std::int64_t places(const ImageDraft& draft, const std::string& name, const ImageTensor& input, const Window& window) {
  const std::int64_t room = input.edge + 2 * window.padding - window.extent;
  if (room < 0) {
    throw InputError(fmt::format("an image of {} pixels is too small: {} needs an edge of at least {} pixels, found {}",
                                 draft.image, name, window.extent - 2 * window.padding, input.edge));
  }
  return room / window.stride + 1;
}

/// Points that F(4x4, 3x3) transforms per output pixel: 6x6 for each tile of 4x4, the last tiles of a row being
/// partly empty.
double winograd_expansion(const Window& window, std::int64_t edge) {
  if (window.extent != 3 || window.stride != 1 || window.line) return 0.0;
  const std::int64_t tiles = (edge + 3) / 4;
  return 36.0 * static_cast<double>(tiles * tiles) / static_cast<double>(edge * edge);
}

}  // namespace

ImageDraft begin_draft(const std::string& name, std::string_view family, std::string_view source, std::int64_t image) {
  if (image < 1 || image > ImageLimits::kPixels) {
    throw InputError("an image has from 1 to " + std::to_string(ImageLimits::kPixels) + " pixels along an edge");
  }
  ImageDraft draft;
  draft.image = image;
  draft.net.name = name;
  const std::string edge = std::to_string(image);
  draft.net.summary = std::string(family).append(" for images of ").append(edge).append("x").append(edge);
  draft.net.source = source;
  draft.net.input_bytes = kValueBytes * input_of(draft).values();
  return draft;
}

ImageTensor input_of(const ImageDraft& draft) {
  ImageTensor input;
  input.edge = draft.image;
  return input;
}

void begin_block(ImageDraft& draft, std::string name, std::string type) {
  draft.block = std::move(name);
  draft.block_type = std::move(type);
}

void begin_layer(ImageDraft& draft, std::string name, std::string type) {
  draft.layer = std::move(name);
  draft.layer_type = std::move(type);
}

std::string type_of(std::string_view kind, const ImageTensor& input) {
  return std::string(kind) + "-" + std::to_string(input.channels) + "@" + std::to_string(input.edge);
}

std::string type_of(const ConvolutionSize& size, const ImageTensor& input) {
  const Window& window = size.window;
  std::string kind = window.line ? "conv1x" : "conv";
  kind += std::to_string(window.extent);
  if (window.stride != 1) kind += "/" + std::to_string(window.stride);
  if (window.padding != window.extent / 2) kind += "p" + std::to_string(window.padding);
  return type_of(kind, input) + "-" + std::to_string(size.channels);
}

ImageTensor add_convolution(ImageDraft& draft, const std::string& name, const ImageTensor& input,
                            const ConvolutionSize& size) {
  const ImageTensor output{OperatorId::none(), size.channels, places(draft, name, input, size.window)};
  const std::int64_t weights = size.window.area() * input.channels * size.channels;
  Operator op = operator_on(input);
  op.kind = OperatorKind::Convolution;
  op.parameters = weights + (size.bias ? size.channels : 0);
  op.macs = weights * output.edge * output.edge;
  op.saves_input = true;
  op.kernel.winograd_expansion = winograd_expansion(size.window, output.edge);
  return append(draft, name, op, output);
}

ImageTensor add_max_pool(ImageDraft& draft, const std::string& name, const ImageTensor& input, const Window& window) {
  const ImageTensor output{OperatorId::none(), input.channels, places(draft, name, input, window)};
  Operator op = operator_on(input);
  op.kind = OperatorKind::Pooling;
  op.saves_input = true;
  op.saved_bytes = kPoolIndexBytes * output.values();
  return append(draft, name, op, output);
}

ImageTensor add_average_pool(ImageDraft& draft, const std::string& name, const ImageTensor& input,
                             const Window& window) {
  const ImageTensor output{OperatorId::none(), input.channels, places(draft, name, input, window)};
  Operator op = operator_on(input);
  op.kind = OperatorKind::Pooling;
  op.saves_input = true;
  return append(draft, name, op, output);
}

ImageTensor add_adaptive_average(ImageDraft& draft, const std::string& name, const ImageTensor& input,
                                 std::int64_t edge) {
  Operator op = operator_on(input);
  op.saves_input = true;
  return append(draft, name, op, {OperatorId::none(), input.channels, edge});
}

ImageTensor add_batch_norm(ImageDraft& draft, const std::string& name, const ImageTensor& input) {
  Operator op = operator_on(input);
  op.kind = OperatorKind::Normalization;
  op.input_values = 2 * input.values();
  op.parameters = 2 * input.channels;
  op.saves_input = true;
  return append(draft, name, op, input);
}

ImageTensor add_relu(ImageDraft& draft, const std::string& name, const ImageTensor& input) {
  Operator op = operator_on(input);
  op.saves_output = true;
  return append(draft, name, op, input);
}

ImageTensor add_dropout(ImageDraft& draft, const std::string& name, const ImageTensor& input) {
  Operator op = operator_on(input);
  op.saved_bytes = kDropoutMaskBytes * input.values();
  return append(draft, name, op, input);
}

ImageTensor add_linear(ImageDraft& draft, const std::string& name, const ImageTensor& input, std::int64_t outputs) {
  Operator op = operator_on(input);
  op.kind = OperatorKind::Linear;
  op.parameters = (input.values() + 1) * outputs;
  op.macs = input.values() * outputs;
  op.saves_input = true;
  return append(draft, name, op, {OperatorId::none(), outputs, 1});
}

ImageTensor add_sum(ImageDraft& draft, const std::string& name, const ImageTensor& a, const ImageTensor& b) {
  STAGECRAFT_CHECK(a.channels == b.channels && a.edge == b.edge, "the terms of a sum have one shape");
  Operator op = operator_on(a);
  op.inputs.push_back(b.producer);
  op.input_values = 2 * a.values();
  return append(draft, name, op, a);
}

ImageTensor add_shift(ImageDraft& draft, const std::string& name, const ImageTensor& input) {
  return append(draft, name, operator_on(input), input);
}

ImageTensor add_concatenation(ImageDraft& draft, const std::string& name, const std::vector<ImageTensor>& terms) {
  ImageTensor output{OperatorId::none(), 0, terms.front().edge};
  Operator op;
  for (const ImageTensor& term : terms) {
    STAGECRAFT_CHECK(term.edge == output.edge, "the terms of a concatenation have one edge");
    op.inputs.push_back(term.producer);
    output.channels += term.channels;
  }
  op.input_values = output.values();
  return append(draft, name, op, output);
}

ImageTensor add_conv_norm(ImageDraft& draft, const std::string& name, const ImageTensor& input,
                          const ConvolutionSize& size, bool active) {
  begin_layer(draft, name, type_of(size, input) + (active ? "-norm-relu" : "-norm"));
  ImageTensor tensor = add_convolution(draft, name + ".conv", input, size);
  tensor = add_batch_norm(draft, name + ".norm", tensor);
  return active ? add_relu(draft, name + ".relu", tensor) : tensor;
}

ImageTensor add_norm_conv(ImageDraft& draft, const std::string& name, const ImageTensor& input,
                          const ConvolutionSize& size) {
  begin_layer(draft, name, "norm-relu-" + type_of(size, input));
  const ImageTensor normal = add_batch_norm(draft, name + ".norm", input);
  return add_convolution(draft, name + ".conv", add_relu(draft, name + ".relu", normal), size);
}

}  // namespace stagecraft
