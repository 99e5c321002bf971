#include "sim/io/kineto_shapes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace stagecraft {
namespace {

/// Which inputs of an operator are what.
struct KnownOperator {
  std::string_view name;
  std::size_t input;
  std::size_t weight;
  std::size_t bias;  ///< the same as `weight` for an operator without one
};

/// The signatures of ATen. Of operators that call each other one is here, so that parameters count once.
constexpr std::array<KnownOperator, 11> kKnownOperators{{{"aten::batch_norm", 0, 1, 2},
                                                         {"aten::bilinear", 0, 2, 3},
                                                         {"aten::convolution", 0, 1, 2},
                                                         {"aten::embedding", 1, 0, 0},
                                                         {"aten::embedding_bag", 1, 0, 0},
                                                         {"aten::group_norm", 0, 2, 3},
                                                         {"aten::instance_norm", 0, 1, 2},
                                                         {"aten::layer_norm", 0, 2, 3},
                                                         {"aten::linear", 0, 1, 2},
                                                         {"aten::prelu", 0, 1, 1},
                                                         {"aten::rms_norm", 0, 2, 2}}};

struct ElementType {
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array<ElementType, 30> kElementTypes{{{"float", 4},
                                                     {"double", 8},
                                                     {"c10::Half", 2},
                                                     {"c10::BFloat16", 2},
                                                     {"c10::Float8_e4m3fn", 1},
                                                     {"c10::Float8_e5m2", 1},
                                                     {"long int", 8},
                                                     {"long", 8},
                                                     {"int", 4},
                                                     {"short int", 2},
                                                     {"short", 2},
                                                     {"signed char", 1},
                                                     {"unsigned char", 1},
                                                     {"bool", 1},
                                                     {"c10::complex<float>", 8},
                                                     {"c10::complex<double>", 16},
                                                     {"Float", 4},
                                                     {"Double", 8},
                                                     {"Half", 2},
                                                     {"BFloat16", 2},
                                                     {"Float8_e4m3fn", 1},
                                                     {"Float8_e5m2", 1},
                                                     {"Long", 8},
                                                     {"Int", 4},
                                                     {"Short", 2},
                                                     {"Char", 1},
                                                     {"Byte", 1},
                                                     {"Bool", 1},
                                                     {"ComplexFloat", 8},
                                                     {"ComplexDouble", 16}}};

std::optional<Bytes> bytes_of(const std::vector<KinetoInput>& inputs, std::size_t at) {
  if (at >= inputs.size()) return std::nullopt;
  const std::optional<std::int64_t> each = element_bytes(inputs[at].type);
  if (!each) return std::nullopt;
  return Bytes(inputs[at].elements * *each);
}

/// What the input at a position says, if that is a tensor.
KinetoShapes shapes_at(const std::vector<KinetoInput>& inputs, std::size_t at) {
  const std::optional<Bytes> bytes = bytes_of(inputs, at);
  return bytes ? KinetoShapes{*bytes, Bytes(0), inputs[at].first} : KinetoShapes{};
}

KinetoShapes first_tensor(const std::vector<KinetoInput>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (bytes_of(inputs, i)) return shapes_at(inputs, i);
  }
  return {};
}

}  // namespace

std::optional<std::int64_t> element_bytes(std::string_view type) {
  const auto* found = std::ranges::find(kElementTypes, type, &ElementType::name);
  if (found == kElementTypes.end()) return std::nullopt;
  return found->bytes;
}

KinetoShapes kineto_shapes(std::string_view name, const std::vector<KinetoInput>& inputs) {
  const auto* known = std::ranges::find(kKnownOperators, name, &KnownOperator::name);
  if (known == kKnownOperators.end()) return first_tensor(inputs);
  KinetoShapes shapes = shapes_at(inputs, known->input);
  shapes.parameters = bytes_of(inputs, known->weight).value_or(Bytes(0));
  if (known->bias != known->weight) shapes.parameters += bytes_of(inputs, known->bias).value_or(Bytes(0));
  return shapes;
}

}  // namespace stagecraft
