#include "sim/workload/vit.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/draft.hpp"

#include <fmt/core.h>

#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kColours = 3;
constexpr std::int64_t kColourBytes = 4;  ///< images enter in fp32

/// A Vision Transformer under construction.
struct VitDraft {
  Draft draft;
  VitSize size;
  [[nodiscard]] Rows patches() const {
    const std::int64_t edge = size.image / size.patch;
    return {edge * edge, size.hidden};
  }
  [[nodiscard]] Rows rows() const { return {patches().count + 1, size.hidden}; }
};

/// The class token before the patches, and a learned position added to each.
OperatorId add_tokens(VitDraft& vit, OperatorId patches) {
  Operator op;
  op.inputs = {patches};
  op.input_values = vit.patches().values();
  op.output_values = vit.rows().values();
  op.parameters = vit.size.hidden + op.output_values;
  op.ends_residual = true;
  return add_operator(vit.draft, "tokens", op);
}

OperatorId add_patches(VitDraft& vit) {
  const std::int64_t pixels = kColours * vit.size.patch * vit.size.patch;
  const OperatorId patches =
      add_linear(vit.draft, "patches", OperatorId::none(), {vit.patches().count, pixels}, vit.size.hidden);
  vit.draft.net.operators[patches].kind = OperatorKind::Convolution;
  return add_tokens(vit, patches);
}

OperatorId add_vit_block(VitDraft& vit, std::int64_t block, OperatorId stream) {
  Draft& draft = vit.draft;
  const Rows rows = vit.rows();
  const std::string name = "block" + std::to_string(block);
  draft.label = {name + ".attention", "attention", name, "block"};
  const OperatorId normal = add_norm(draft, "norm", stream, rows);
  const OperatorId qkv = add_linear(draft, "qkv", normal, rows, 3 * rows.width);
  const std::int64_t head = rows.width / vit.size.heads;
  const FusedAttentionShape shape{vit.size.heads, rows.count, rows.count, head, head, false};
  const OperatorId context = add_fused_attention(draft, {qkv}, 3 * rows.values(), shape);
  const OperatorId attended = add_linear(draft, "projection", context, rows, rows.width);
  const OperatorId middle = add_stream_sum(draft, "residual", {attended, stream}, rows.values());
  draft.label = {name + ".mlp", "mlp", name, "block"};
  const Rows inner{rows.count, vit.size.feed_forward};
  const OperatorId wide = add_linear(draft, "up", add_norm(draft, "norm", middle, rows), rows, inner.width);
  const OperatorId active = add_gelu(draft, "gelu", wide, inner.values());
  const OperatorId narrow = add_linear(draft, "down", active, inner, rows.width);
  return add_stream_sum(draft, "residual", {narrow, middle}, rows.values());
}

void require_countable(const VitSize& size) {
  constexpr VitSize kMost = largest_vit();
  const bool positive = size.layers > 0 && size.hidden > 0 && size.heads > 0 && size.feed_forward >= 0 &&
                        size.patch > 0 && size.image > 0 && size.classes > 0;
  const bool countable = size.layers <= kMost.layers && size.hidden <= kMost.hidden && size.heads <= kMost.heads &&
                         size.feed_forward <= kMost.feed_forward && size.classes <= kMost.classes;
  if (!positive || !countable) throw InputError("a size of a Vision Transformer is below 1 or larger than supported");
  if (size.hidden % size.heads != 0) {
    throw InputError(fmt::format("hidden must be a multiple of heads, found {} and {}", size.hidden, size.heads));
  }
  if (size.image > kMost.image) {
    throw InputError(fmt::format("an image of {} pixels is larger than {}", size.image, kMost.image));
  }
  if (size.patch > size.image) {
    throw InputError(fmt::format("a patch of {} pixels does not fit in an image of {}", size.patch, size.image));
  }
}

}  // namespace

Architecture vit(const std::string& name, const VitSize& size) {
  require_countable(size);
  VitDraft vit;
  vit.size = size;
  if (size.feed_forward == 0) vit.size.feed_forward = 4 * size.hidden;
  Draft& draft = vit.draft;
  draft.net.name = name;
  draft.net.summary = fmt::format("Vision Transformer, {} blocks, hidden {}, {} heads, patches of {}, image {}",
                                  size.layers, size.hidden, size.heads, size.patch, size.image);
  draft.net.source = "Dosovitskiy et al., An Image is Worth 16x16 Words, ICLR 2021, arXiv:2010.11929";
  draft.net.input_bytes = kColourBytes * kColours * size.image * size.image;
  draft.label = single_label("embedding");
  OperatorId stream = add_patches(vit);
  for (std::int64_t block = 0; block < size.layers; ++block) stream = add_vit_block(vit, block, stream);
  draft.label = single_label("head");
  const OperatorId normal = add_norm(draft, "norm", stream, vit.rows());
  add_linear(draft, "classes", normal, {1, size.hidden}, size.classes);
  return std::move(draft.net);
}

}  // namespace stagecraft
