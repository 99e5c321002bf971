#include "sim/workload/amoebanet.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/image_draft.hpp"

#include <array>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

enum class CellStep { Identity, Conv1x1, Conv3x3, Conv1x7And7x1, Max2x2, Max3x3, Average3x3 };

/// An operation of a cell and the state that it reads: 0 is what the previous block made, 1 what the block before it
/// made, and 2 + i the sum of operations 2 i and 2 i + 1.
struct CellOperation {
  std::size_t state;
  CellStep step;
};

constexpr std::array<std::size_t, 4> kNormalOutputs = {0, 3, 4, 6};
constexpr std::array<std::size_t, 3> kReductionOutputs = {4, 5, 6};

/// The operations of a cell, and the states that it puts out.
struct CellGenotype {
  std::array<CellOperation, 10> operations;
  std::span<const std::size_t> outputs;
};

constexpr CellGenotype kNormalCell = {{{{1, CellStep::Conv1x1},
                                        {1, CellStep::Max3x3},
                                        {1, CellStep::Identity},
                                        {0, CellStep::Conv1x7And7x1},
                                        {0, CellStep::Conv1x1},
                                        {0, CellStep::Conv1x7And7x1},
                                        {2, CellStep::Max3x3},
                                        {2, CellStep::Identity},
                                        {1, CellStep::Average3x3},
                                        {5, CellStep::Conv1x1}}},
                                      kNormalOutputs};

constexpr CellGenotype kReductionCell = {{{{0, CellStep::Max2x2},
                                           {0, CellStep::Max3x3},
                                           {2, CellStep::Identity},
                                           {1, CellStep::Conv3x3},
                                           {2, CellStep::Conv1x7And7x1},
                                           {2, CellStep::Max3x3},
                                           {3, CellStep::Identity},
                                           {1, CellStep::Max2x2},
                                           {2, CellStep::Average3x3},
                                           {3, CellStep::Conv1x1}}},
                                         kReductionOutputs};

constexpr std::int64_t kCellBottleneck = 4;  ///< times fewer channels between the 1x1 convolutions

/// What the two blocks before a cell made.
struct CellInputs {
  ImageTensor previous;
  ImageTensor earlier;
};

ImageTensor add_relu_conv(ImageDraft& draft, const std::string& name, const ImageTensor& input,
                          const ConvolutionSize& size) {
  begin_layer(draft, name, "relu-" + type_of(size, input) + "-norm");
  const ImageTensor active = add_relu(draft, name + ".relu", input);
  return add_batch_norm(draft, name + ".norm", add_convolution(draft, name + ".conv", active, size));
}

/// Halves the image without losing places: half of the channels are made from the even ones, half from the odd ones.
ImageTensor add_halving(ImageDraft& draft, const std::string& name, const ImageTensor& input, std::int64_t channels) {
  begin_layer(draft, name, type_of("halve", input) + "-" + std::to_string(channels));
  const ConvolutionSize half{channels / 2, {.extent = 1, .stride = 2}};
  const ImageTensor active = add_relu(draft, name + ".relu", input);
  const ImageTensor even = add_convolution(draft, name + ".even", active, half);
  const ImageTensor odd = add_convolution(draft, name + ".odd", add_shift(draft, name + ".shift", active), half);
  return add_batch_norm(draft, name + ".norm", add_concatenation(draft, name + ".concat", {even, odd}));
}

/// Fits the output of the block before the previous one to the image and the channels of the cell.
ImageTensor add_earlier_state(ImageDraft& draft, const std::string& name, const CellInputs& inputs,
                              std::int64_t channels) {
  if (inputs.earlier.edge != inputs.previous.edge) return add_halving(draft, name, inputs.earlier, channels);
  if (inputs.earlier.channels == channels) return inputs.earlier;
  return add_relu_conv(draft, name, inputs.earlier, {channels, same_square(1)});
}

/// 1x1 convolutions around those of `windows`, which have a quarter of the channels.
ImageTensor add_bottleneck(ImageDraft& draft, const std::string& name, ImageTensor tensor,
                           const std::vector<Window>& windows) {
  const std::int64_t channels = tensor.channels;
  std::vector<ConvolutionSize> convolutions = {{channels / kCellBottleneck, same_square(1)}};
  for (const Window& window : windows) convolutions.push_back({channels / kCellBottleneck, window});
  convolutions.push_back({channels, same_square(1)});
  int number = 0;
  for (const ConvolutionSize& size : convolutions) {
    tensor = add_relu_conv(draft, name + ".conv" + std::to_string(++number), tensor, size);
  }
  return tensor;
}

/// Odd images round up, as TensorFlow pads them.
ImageTensor add_cell_max_pool(ImageDraft& draft, const std::string& name, const ImageTensor& input, std::int64_t extent,
                              std::int64_t stride) {
  const Window window = extent == 2 ? Window{2, stride, input.edge % 2} : same_square(extent, stride);
  begin_layer(draft, name, type_of("max" + std::to_string(extent) + "/" + std::to_string(stride), input));
  return add_max_pool(draft, name, input, window);
}

/// Only Max2x2, Max3x3 and Conv3x3 ever get a stride of 2.
ImageTensor add_cell_step(ImageDraft& draft, const std::string& name, CellStep step, const ImageTensor& input,
                          std::int64_t stride) {
  switch (step) {
    case CellStep::Identity: return input;
    case CellStep::Conv1x1: return add_relu_conv(draft, name, input, {input.channels, same_square(1)});
    case CellStep::Conv3x3: return add_bottleneck(draft, name, input, {same_square(3, stride)});
    case CellStep::Conv1x7And7x1: return add_bottleneck(draft, name, input, {same_line(7), same_line(7)});
    case CellStep::Max2x2: return add_cell_max_pool(draft, name, input, 2, stride);
    case CellStep::Max3x3: return add_cell_max_pool(draft, name, input, 3, stride);
    case CellStep::Average3x3: break;
  }
  begin_layer(draft, name, type_of("average3", input));
  return add_average_pool(draft, name, input, same_square(3));
}

/// Moves `inputs` on to the cell's output.
void add_cell(ImageDraft& draft, const std::string& name, CellInputs& inputs, std::int64_t channels, bool reduces) {
  const std::string kind = reduces ? "reduction" : "normal";
  begin_block(draft, name, type_of(kind, inputs.previous) + "+" + type_of(std::to_string(channels), inputs.earlier));
  std::vector<ImageTensor> states = {
      add_relu_conv(draft, name + ".reduce1", inputs.previous, {channels, same_square(1)}),
      add_earlier_state(draft, name + ".reduce2", inputs, channels)};
  const CellGenotype& genotype = reduces ? kReductionCell : kNormalCell;
  std::vector<ImageTensor> results;
  for (std::size_t i = 0; i < genotype.operations.size(); ++i) {
    const auto [state, step] = genotype.operations[i];
    const std::int64_t stride = reduces && state < 2 ? 2 : 1;
    results.push_back(add_cell_step(draft, name + ".op" + std::to_string(i), step, states[state], stride));
    if (i % 2 == 0) continue;
    const std::string sum = name + ".sum" + std::to_string(i / 2);
    begin_layer(draft, sum, type_of("sum", results[i]));
    states.push_back(add_sum(draft, sum, results[i - 1], results[i]));
  }
  std::vector<ImageTensor> terms;
  for (const std::size_t state : genotype.outputs) terms.push_back(states[state]);
  begin_layer(draft, name + ".concat");
  inputs = {add_concatenation(draft, name + ".concat", terms), inputs.previous};
}

void require_sound(const AmoebanetSize& size) {
  const bool positive = size.cells > 0 && size.filters > 0 && size.classes > 0;
  const bool countable = size.cells <= AmoebanetLimits::kCells && size.filters <= AmoebanetLimits::kFilters &&
                         size.classes <= ImageLimits::kOutputs;
  if (!positive || !countable) throw InputError("a size is out of the range supported for an AmoebaNet");
  if (size.cells % AmoebanetLimits::kCellMultiple != 0 || size.filters % AmoebanetLimits::kFilterMultiple != 0) {
    throw InputError("an AmoebaNet has a multiple of 3 normal cells and a multiple of 8 filters");
  }
}

}  // namespace

Architecture amoebanet(const std::string& name, const AmoebanetSize& size) {
  require_sound(size);
  ImageDraft draft = begin_draft(
      name, "AmoebaNet-D (" + std::to_string(size.cells) + ", " + std::to_string(size.filters) + ")",
      "Real et al., Regularized Evolution for Image Classifier Architecture Search, AAAI 2019, arXiv:1802.01548",
      size.image);
  std::int64_t channels = size.filters / 4;
  begin_block(draft, "stem1");
  const ImageTensor stem = add_conv_norm(draft, "stem1", input_of(draft), {channels, same_square(3, 2)}, false);
  CellInputs inputs{stem, stem};
  add_cell(draft, "stem2", inputs, channels *= 2, true);
  add_cell(draft, "stem3", inputs, channels *= 2, true);
  for (int part = 1; part <= 5; ++part) {
    const std::string prefix = "cell" + std::to_string(part);
    if (part % 2 == 0) {
      add_cell(draft, prefix + "_reduction", inputs, channels *= 2, true);
      continue;
    }
    for (std::int64_t i = 1; i <= size.cells / 3; ++i) {
      add_cell(draft, prefix + "_normal" + std::to_string(i), inputs, channels, false);
    }
  }
  begin_block(draft, "classify");
  begin_layer(draft, "avgpool");
  const ImageTensor average = add_adaptive_average(draft, "avgpool", inputs.previous, 1);
  begin_layer(draft, "fc");
  static_cast<void>(add_linear(draft, "fc", average, size.classes));
  return std::move(draft.net);
}

}  // namespace stagecraft
