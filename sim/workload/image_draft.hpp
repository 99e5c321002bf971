#pragma once

#include "sim/workload/architecture.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// The most of each size that the networks for images accept: within these no count of one operator exceeds 2^60.
struct ImageLimits {
  static constexpr std::int64_t kPixels = 1 << 14;   ///< along an edge
  static constexpr std::int64_t kOutputs = 1 << 20;  ///< of a linear layer
};

/// A tensor of one sample: `channels` planes of edge x edge values.
struct ImageTensor {
  OperatorId producer = OperatorId::none();  ///< `none()`: the network's input
  std::int64_t channels = 3;
  std::int64_t edge = 0;
  [[nodiscard]] std::int64_t values() const { return channels * edge * edge; }
};

/// The window that slides over an image: a square of extent x extent, or a line of extent values along one axis.
struct Window {
  std::int64_t extent = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;  ///< zeros at each end of a long side
  bool line = false;         ///< with `stride` 1 and half the extent as padding, so that the image stays square
  [[nodiscard]] std::int64_t area() const { return line ? extent : extent * extent; }
};

/// A square of odd extent whose padding leaves as many places as the image has at stride 1.
constexpr Window same_square(std::int64_t extent, std::int64_t stride = 1) { return {extent, stride, extent / 2}; }

/// The same of a line, at stride 1.
constexpr Window same_line(std::int64_t extent) { return {extent, 1, extent / 2, true}; }

struct ConvolutionSize {
  std::int64_t channels = 0;  ///< of the output
  Window window;
  bool bias = false;
};

/// A convolutional network under construction. Each function below appends one operator, which belongs to the layer
/// and the block set last, and returns the tensor it makes. Operators keep for the backward what PyTorch's autograd
/// keeps.
struct ImageDraft {
  Architecture net;
  std::int64_t image = 0;  ///< pixels along an edge
  std::string layer;
  std::string layer_type;
  std::string block;
  std::string block_type;
};

/// A draft without operators, and the tensor of its three-channel input. `family` starts the summary.
[[nodiscard]] ImageDraft begin_draft(const std::string& name, std::string_view family, std::string_view source,
                                     std::int64_t image);
[[nodiscard]] ImageTensor input_of(const ImageDraft& draft);

void begin_block(ImageDraft& draft, std::string name, std::string type = {});
void begin_layer(ImageDraft& draft, std::string name, std::string type = {});

/// A type that names what decides the numbers of an operator on `input`, e.g. `relu-64@224`.
[[nodiscard]] std::string type_of(std::string_view kind, const ImageTensor& input);
[[nodiscard]] std::string type_of(const ConvolutionSize& size, const ImageTensor& input);

// The windowed operators throw InputError where the window does not fit into the padded image.
[[nodiscard]] ImageTensor add_convolution(ImageDraft& draft, const std::string& name, const ImageTensor& input,
                                          const ConvolutionSize& size);
[[nodiscard]] ImageTensor add_max_pool(ImageDraft& draft, const std::string& name, const ImageTensor& input,
                                       const Window& window);
[[nodiscard]] ImageTensor add_average_pool(ImageDraft& draft, const std::string& name, const ImageTensor& input,
                                           const Window& window);

/// Averages to edge x edge values, whatever the image (torchvision's `AdaptiveAvgPool2d`).
[[nodiscard]] ImageTensor add_adaptive_average(ImageDraft& draft, const std::string& name, const ImageTensor& input,
                                               std::int64_t edge);

/// Batch normalisation of a training run: either direction goes through its input twice, once for statistics.
[[nodiscard]] ImageTensor add_batch_norm(ImageDraft& draft, const std::string& name, const ImageTensor& input);
[[nodiscard]] ImageTensor add_relu(ImageDraft& draft, const std::string& name, const ImageTensor& input);
[[nodiscard]] ImageTensor add_dropout(ImageDraft& draft, const std::string& name, const ImageTensor& input);

/// A dense layer with bias on all values of `input`.
[[nodiscard]] ImageTensor add_linear(ImageDraft& draft, const std::string& name, const ImageTensor& input,
                                     std::int64_t outputs);

/// The sum of two tensors of one shape.
[[nodiscard]] ImageTensor add_sum(ImageDraft& draft, const std::string& name, const ImageTensor& a,
                                  const ImageTensor& b);

/// A copy that begins one row and one column later and ends with a row and a column of zeros.
[[nodiscard]] ImageTensor add_shift(ImageDraft& draft, const std::string& name, const ImageTensor& input);

/// The channels of all terms, copied into one tensor.
[[nodiscard]] ImageTensor add_concatenation(ImageDraft& draft, const std::string& name,
                                            const std::vector<ImageTensor>& terms);

/// A layer of its own called `name`: convolution without bias, batch normalisation, ReLU if `active`.
[[nodiscard]] ImageTensor add_conv_norm(ImageDraft& draft, const std::string& name, const ImageTensor& input,
                                        const ConvolutionSize& size, bool active = true);

/// The other order, of networks that normalise first: a layer of batch normalisation, ReLU, convolution without bias.
[[nodiscard]] ImageTensor add_norm_conv(ImageDraft& draft, const std::string& name, const ImageTensor& input,
                                        const ConvolutionSize& size);

}  // namespace stagecraft
