#include "sim/workload/vit.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/workload/group_draft.hpp"

#include <fmt/core.h>

#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kChannelBytes = 4;  ///< images enter in fp32

/// A Vision Transformer under construction. Sizes that the members of a tensor group divide are those of one member.
struct VitDraft {
  Draft draft;
  VitSize size;
  [[nodiscard]] Rows patches() const {
    const std::int64_t edge = size.image / size.patch;
    return {edge * edge, size.hidden};
  }
  [[nodiscard]] Rows all_rows() const { return {patches().count + 1, size.hidden}; }
  [[nodiscard]] Rows rows() const { return own_rows(draft, all_rows()); }  ///< of the stream
  [[nodiscard]] Rows heads() const { return {all_rows().count, size.hidden / draft.degrees.tensor}; }
};

/// The class token before the patches, and a learned position added to each.
OperatorId add_tokens(VitDraft& vit, OperatorId patches) {
  Operator op;
  op.inputs = {patches};
  op.input_values = vit.patches().values();
  op.output_values = vit.rows().values();
  op.parameters = vit.size.hidden + vit.all_rows().values();
  op.ends_residual = true;
  return add_operator(vit.draft, "tokens", op);
}

OperatorId add_patches(VitDraft& vit) {
  const std::int64_t pixels = vit.size.channels * vit.size.patch * vit.size.patch;
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
  const Rows all = vit.all_rows();
  const Rows heads = vit.heads();
  const OperatorId qkv =
      add_entry_product(draft, "qkv", normal, all, 3 * heads.width, vit.size.qkv_bias ? Bias::With : Bias::Without);
  const std::int64_t head = heads.width / vit.size.heads;
  const FusedAttentionShape shape{vit.size.heads, heads.count, heads.count, head, head};
  const OperatorId context = add_fused_attention(draft, {qkv}, 3 * heads.values(), shape);
  const OperatorId attended = add_exit_product(draft, "projection", context, heads, rows.width, Bias::With);
  const OperatorId middle = add_stream_sum(draft, "residual", {attended, stream}, rows.values());
  draft.label = {name + ".mlp", "mlp", name, "block"};
  const Rows inner{all.count, vit.size.feed_forward};
  const OperatorId second = add_norm(draft, "norm", middle, rows);
  const OperatorId wide = add_entry_product(draft, "up", second, all, inner.width, Bias::With);
  const OperatorId active = add_gelu(draft, "gelu", wide, inner.values());
  const OperatorId narrow = add_exit_product(draft, "down", active, inner, rows.width, Bias::With);
  return add_stream_sum(draft, "residual", {narrow, middle}, rows.values());
}

void require_countable(const VitSize& size) {
  constexpr VitSize kMost = largest_vit();
  const bool positive = size.layers > 0 && size.hidden > 0 && size.heads > 0 && size.feed_forward >= 0 &&
                        size.patch > 0 && size.image > 0 && size.channels > 0 && size.classes > 0;
  const bool countable = size.layers <= kMost.layers && size.hidden <= kMost.hidden && size.heads <= kMost.heads &&
                         size.feed_forward <= kMost.feed_forward && size.channels <= kMost.channels &&
                         size.classes <= kMost.classes;
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

/// Of whole sizes the part of one member of a group.
Architecture vit_member(const std::string& name, const VitSize& size, const Degrees& degrees) {
  VitDraft vit;
  vit.size = size;
  vit.size.heads /= degrees.tensor;
  vit.size.feed_forward /= degrees.tensor;
  vit.draft.degrees = degrees;
  Draft& draft = vit.draft;
  draft.net.name = name;
  draft.net.summary = fmt::format("Vision Transformer, {} blocks, hidden {}, {} heads, patches of {}, image {}",
                                  size.layers, size.hidden, size.heads, size.patch, size.image);
  if (size.channels != VitSize{}.channels) draft.net.summary += " of " + counted(size.channels, "channel");
  draft.net.source = "Dosovitskiy et al., An Image is Worth 16x16 Words, ICLR 2021, arXiv:2010.11929";
  draft.net.input_bytes = kChannelBytes * size.channels * size.image * size.image;
  draft.label = single_label("embedding");
  OperatorId stream = add_patches(vit);
  for (std::int64_t block = 0; block < size.layers; ++block) stream = add_vit_block(vit, block, stream);
  draft.label = single_label("head");
  const OperatorId normal = add_norm(draft, "norm", stream, vit.rows());
  const OperatorId classes = add_linear(draft, "classes", normal, {1, size.hidden}, size.classes);
  gather(draft, classes, vit.all_rows());
  return std::move(draft.net);
}

}  // namespace

Architecture vit(const std::string& name, const VitSize& size) {
  require_countable(size);
  VitSize whole = size;
  if (size.feed_forward == 0) whole.feed_forward = 4 * size.hidden;
  Architecture net = vit_member(name, whole, {});
  net.division.member = [name, whole](const Degrees& degrees) {
    const std::int64_t edge = whole.image / whole.patch;
    require_divisible(name, {{"heads", whole.heads}, {"values inside an MLP", whole.feed_forward}}, edge * edge + 1,
                      degrees);
    return vit_member(name, whole, degrees);
  };
  return net;
}

}  // namespace stagecraft
