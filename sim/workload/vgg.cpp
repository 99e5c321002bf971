#include "sim/workload/vgg.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <iterator>

namespace stagecraft {
namespace {

constexpr std::int64_t kPooledEdge = 7;  ///< torchvision's AdaptiveAvgPool2d((7, 7))
constexpr std::int64_t kImageChannels = 3;
constexpr std::int64_t kValueBytes = 4;
constexpr std::int64_t kPoolIndexBytes = 8;    ///< PyTorch keeps 64-bit indices of the maxima
constexpr std::int64_t kDropoutMaskBytes = 1;  ///< one byte per value

/// Where the network has got to.
struct Front {
  OperatorId tensor = OperatorId::none();
  std::int64_t channels = kImageChannels;
  std::int64_t edge = 0;
  [[nodiscard]] std::int64_t values() const { return channels * edge * edge; }
};

/// Points that F(4x4, 3x3) transforms per output pixel: 6x6 for each tile of 4x4, the last tiles of a row being
/// partly empty.
double winograd_expansion(std::int64_t edge) {
  const std::int64_t tiles = (edge + 3) / 4;
  return 36.0 * static_cast<double>(tiles * tiles) / static_cast<double>(edge * edge);
}

std::string shape_tag(const std::string& kind, const Front& front) {
  return kind + "-" + std::to_string(front.channels) + "@" + std::to_string(front.edge);
}

void add_convolution(Architecture& net, Front& front, std::int64_t channels, const std::string& place,
                     const std::string& block) {
  Operator conv;
  conv.name = conv.layer = "conv" + place;
  conv.block = block;
  conv.layer_type = shape_tag("conv3", front) + "-" + std::to_string(channels);
  conv.kind = OperatorKind::Convolution;
  conv.inputs = {front.tensor};
  conv.input_values = front.values();
  conv.parameters = 9 * front.channels * channels + channels;
  conv.macs = 9 * front.channels * channels * front.edge * front.edge;
  conv.saves_input = true;
  conv.winograd_expansion = winograd_expansion(front.edge);
  front.channels = channels;
  conv.output_values = front.values();
  front.tensor = net.operators.push_back(conv);
}

void add_relu(Architecture& net, Front& front, const std::string& place, const std::string& block) {
  Operator relu;
  relu.name = relu.layer = "relu" + place;
  relu.block = block;
  relu.layer_type = shape_tag("relu", front);
  relu.inputs = {front.tensor};
  relu.input_values = relu.output_values = front.values();
  relu.saves_output = true;
  front.tensor = net.operators.push_back(relu);
}

void add_pool(Architecture& net, Front& front, const std::string& name, const std::string& block) {
  Operator pool;
  pool.name = pool.layer = name;
  pool.block = block;
  pool.kind = OperatorKind::Pooling;
  pool.inputs = {front.tensor};
  pool.input_values = front.values();
  front.edge /= 2;
  if (front.edge == 0) throw InputError("the image is too small for the poolings of the network");
  pool.output_values = front.values();
  pool.saves_input = true;
  pool.saved_bytes = kPoolIndexBytes * pool.output_values;
  front.tensor = net.operators.push_back(pool);
}

/// Averages to 7x7, whatever the image; part of the last pooling's layer.
void add_average(Architecture& net, Front& front) {
  Operator average = net.operators.back();
  average.name = "avgpool";
  average.kind = OperatorKind::Pointwise;
  average.inputs = {front.tensor};
  average.input_values = front.values();
  front.edge = kPooledEdge;
  average.output_values = front.values();
  average.saved_bytes = 0;
  front.tensor = net.operators.push_back(average);
}

void add_linear(Architecture& net, Front& front, std::int64_t outputs, const std::string& name) {
  Operator linear;
  linear.name = linear.layer = linear.block = name;
  linear.kind = OperatorKind::Linear;
  linear.inputs = {front.tensor};
  linear.input_values = front.values();
  linear.parameters = (front.values() + 1) * outputs;
  linear.macs = front.values() * outputs;
  linear.saves_input = true;
  linear.output_values = outputs;
  front = {net.operators.push_back(linear), outputs, 1};
}

void add_dropout(Architecture& net, Front& front, const std::string& place, const std::string& block) {
  Operator dropout = net.operators.back();
  dropout.name = "drop" + place;
  dropout.block = block;
  dropout.inputs = {front.tensor};
  dropout.saves_output = false;
  dropout.saved_bytes = kDropoutMaskBytes * front.values();
  front.tensor = net.operators.push_back(dropout);
}

void require_positive(const VggSize& size) {
  bool positive = size.image > 0 && size.hidden > 0 && size.classes > 0 && !size.blocks.empty();
  for (const auto& block : size.blocks) {
    positive = positive && !block.empty();
    for (const std::int64_t channels : block) positive = positive && channels > 0;
  }
  if (!positive) throw InputError("a VGG network needs at least one block, and every size must be at least 1");
  bool countable =
      size.image <= VggLimits::kPixels && size.hidden <= VggLimits::kOutputs && size.classes <= VggLimits::kOutputs;
  for (const auto& block : size.blocks) {
    countable =
        countable && std::ssize(block) <= VggLimits::kConvolutions && std::ranges::max(block) <= VggLimits::kChannels;
  }
  if (!countable) throw InputError("a size exceeds that of the largest VGG network that can be counted");
}

}  // namespace

Architecture vgg(const std::string& name, const VggSize& size) {
  require_positive(size);
  Architecture net;
  net.name = name;
  net.summary = "VGG for images of " + std::to_string(size.image) + "x" + std::to_string(size.image);
  net.source = "Simonyan and Zisserman, Very Deep Convolutional Networks for Large-Scale Image Recognition, ICLR 2015";
  Front front;
  front.edge = size.image;
  net.input_bytes = kValueBytes * front.values();
  for (std::size_t b = 0; b < size.blocks.size(); ++b) {
    const std::string number = std::to_string(b + 1);
    for (std::size_t c = 0; c < size.blocks[b].size(); ++c) {
      const std::string place = number + "_" + std::to_string(c + 1);
      add_convolution(net, front, size.blocks[b][c], place, "conv" + number);
      add_relu(net, front, place, "conv" + number);
    }
    add_pool(net, front, "pool" + number, "conv" + number);
  }
  add_average(net, front);
  for (const std::string place : {"6", "7"}) {
    add_linear(net, front, size.hidden, "fc" + place);
    add_relu(net, front, place, "fc" + place);
    add_dropout(net, front, place, "fc" + place);
  }
  add_linear(net, front, size.classes, "fc8");
  return net;
}

VggSize vgg16_size() { return {.blocks = {{64, 64}, {128, 128}, {256, 256, 256}, {512, 512, 512}, {512, 512, 512}}}; }

}  // namespace stagecraft
