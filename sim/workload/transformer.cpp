#include "sim/workload/transformer.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/group_draft.hpp"

#include <fmt/core.h>

#include <utility>

namespace stagecraft {
namespace {

/// A transformer under construction. Sizes that the members of a tensor group divide are those of one member.
struct Stack {
  Draft draft;
  TransformerSize size;

  [[nodiscard]] Rows all_rows() const { return {size.sequence, size.hidden}; }
  [[nodiscard]] Rows rows() const { return own_rows(draft, all_rows()); }  ///< of the stream
  [[nodiscard]] std::int64_t activations() const { return rows().values(); }
  [[nodiscard]] std::int64_t width() const { return size.hidden / draft.degrees.tensor; }  ///< of all heads
  [[nodiscard]] AttentionShape attention() const {
    return {size.heads, size.sequence, size.sequence, width(), size.dropouts.attention};
  }
};

OperatorId add_dropout_if(Stack& stack, bool drops, OperatorId input) {
  return drops ? add_dropout(stack.draft, "dropout", input, stack.activations()) : input;
}

OperatorId add_mlp_core(Stack& stack, OperatorId input) {
  const Rows inner{stack.size.sequence, stack.size.feed_forward};
  const OperatorId wide = add_entry_product(stack.draft, "up", input, stack.all_rows(), inner.width, Bias::With);
  const OperatorId active = add_gelu(stack.draft, "gelu", wide, inner.values());
  const OperatorId narrow = add_exit_product(stack.draft, "down", active, inner, stack.size.hidden, Bias::With);
  return add_dropout_if(stack, stack.size.dropouts.residual, narrow);
}

OperatorId add_projection(Stack& stack, OperatorId context) {
  const Rows heads{stack.size.sequence, stack.width()};
  const OperatorId out = add_exit_product(stack.draft, "projection", context, heads, stack.size.hidden, Bias::With);
  return add_dropout_if(stack, stack.size.dropouts.residual, out);
}

DraftLabel half_label(std::int64_t block, const std::string& half) {
  const std::string name = "block" + std::to_string(block);
  return {name + "." + half, half, name, "block"};
}

OperatorId add_residual(Stack& stack, OperatorId change, OperatorId stream) {
  return add_stream_sum(stack.draft, "residual", {change, stream}, stack.activations());
}

OperatorId add_bert_block(Stack& stack, std::int64_t block, OperatorId input) {
  Draft& draft = stack.draft;
  const Rows all = stack.all_rows();
  draft.label = half_label(block, "attention");
  const OperatorId queries = add_entry_product(draft, "query", input, all, stack.width(), Bias::With);
  const OperatorId keys = add_entry_product(draft, "key", input, all, stack.width(), Bias::With);
  const OperatorId values = add_entry_product(draft, "value", input, all, stack.width(), Bias::With);
  const OperatorId context = add_attention(draft, queries, keys, values, stack.attention());
  const OperatorId attended = add_projection(stack, context);
  const OperatorId middle = add_norm(draft, "norm", add_residual(stack, attended, input), stack.rows());
  draft.label = half_label(block, "mlp");
  const OperatorId transformed = add_mlp_core(stack, middle);
  return add_norm(draft, "norm", add_residual(stack, transformed, middle), stack.rows());
}

OperatorId add_gpt_block(Stack& stack, std::int64_t block, OperatorId input) {
  Draft& draft = stack.draft;
  draft.label = half_label(block, "attention");
  const OperatorId normal = add_norm(draft, "norm", input, stack.rows());
  const OperatorId qkv = add_entry_product(draft, "qkv", normal, stack.all_rows(), 3 * stack.width(), Bias::With);
  const OperatorId attended = add_projection(stack, add_attention(draft, qkv, qkv, qkv, stack.attention()));
  const OperatorId middle = add_residual(stack, attended, input);
  draft.label = half_label(block, "mlp");
  const OperatorId transformed = add_mlp_core(stack, add_norm(draft, "norm", middle, stack.rows()));
  return add_residual(stack, transformed, middle);
}

/// The dense layer and tanh on the first token. PyTorch keeps the whole tensor that the token is a view of. Each member
/// of a group has all of it, and gathers that tensor.
OperatorId add_pooler(Stack& stack, OperatorId input) {
  const Rows token{1, stack.size.hidden};
  const OperatorId dense = add_linear(stack.draft, "pooler", input, token, token.width);
  gather(stack.draft, dense, stack.all_rows());
  return add_tanh(stack.draft, "tanh", dense, token.width);
}

OperatorId add_logits(Stack& stack, OperatorId normal, Bias bias) {
  const OperatorId logits =
      add_tied_decoder(stack.draft, "embedding.words", normal, stack.all_rows(), stack.size.vocabulary, bias);
  make_entry(stack.draft, logits, stack.all_rows());
  return logits;
}

/// The logits of every token, from the dense layer and the normalisation before a tied decoder.
OperatorId add_masked_language_logits(Stack& stack, OperatorId input) {
  Draft& draft = stack.draft;
  const OperatorId dense = add_linear(draft, "dense", input, stack.rows(), stack.size.hidden);
  const OperatorId active = add_gelu(draft, "gelu", dense, stack.activations());
  const OperatorId normal = add_norm(draft, "norm", active, stack.rows());
  return add_logits(stack, normal, Bias::With);
}

void add_masked_language_head(Stack& stack, OperatorId input) {
  const OperatorId logits = add_masked_language_logits(stack, input);
  add_group_loss(stack.draft, logits, stack.size.sequence, stack.size.vocabulary);
}

void add_pretraining_head(Stack& stack, OperatorId input) {
  Draft& draft = stack.draft;
  const OperatorId pooled = add_pooler(stack, input);
  const OperatorId logits = add_masked_language_logits(stack, input);
  const OperatorId next = add_linear(draft, "next_sentence", pooled, {1, stack.size.hidden}, 2);
  const OperatorId loss = add_group_loss(draft, logits, stack.size.sequence, stack.size.vocabulary);
  draft.net.operators[loss].inputs.push_back(next);
}

const char* family_of(BertHead head) {
  switch (head) {
    case BertHead::Pooler: return "BERT encoder";
    case BertHead::Pretraining: return "BERT with its pretraining heads";
    case BertHead::MaskedLanguage: return "BERT with its masked-language head";
  }
  return "";
}

TransformerSize filled_transformer(TransformerSize size) {
  if (size.feed_forward == 0) size.feed_forward = 4 * size.hidden;
  return size;
}

/// The sizes of one member of a group.
TransformerSize transformer_member(TransformerSize size, const Degrees& degrees) {
  size.heads /= degrees.tensor;
  size.feed_forward /= degrees.tensor;
  size.vocabulary = vocabulary_rows(size.vocabulary, degrees);
  return size;
}

NetworkSizes sizes_of_whole(const TransformerSize& size) {
  return {.hidden = size.hidden,
          .heads = size.heads,
          .key_value_heads = size.heads,
          .head_size = size.hidden / size.heads,
          .feed_forward = size.feed_forward,
          .vocabulary = size.vocabulary,
          .positions = size.positions,
          .experts = 0,
          .active_experts = 0,
          .expert_feed_forward = 0,
          .shared_feed_forward = 0,
          .query_rank = 0,
          .key_value_rank = 0,
          .nope = 0,
          .rope = 0,
          .value = 0};
}

/// Of whole sizes the part of one member of a group.
Stack begin(const std::string& name, const std::string& family, const TransformerSize& size, const Degrees& degrees) {
  Stack stack;
  stack.size = transformer_member(size, degrees);
  stack.draft.degrees = degrees;
  Architecture& net = stack.draft.net;
  net.name = name;
  net.summary = fmt::format("{}, {} blocks, hidden {}, {} heads, sequence {}", family, size.layers, size.hidden,
                            size.heads, size.sequence);
  net.input_bytes = kTokenBytes * size.sequence;
  net.tokens = size.sequence;
  net.sizes = sizes_of_whole(size);
  stack.draft.label = single_label("embedding");
  return stack;
}

OperatorId add_words(Stack& stack) {
  const OperatorId words = add_table(stack.draft, "words", stack.size.vocabulary, stack.all_rows());
  make_exit(stack.draft, words, stack.all_rows());
  return words;
}

Architecture bert_member(const std::string& name, const TransformerSize& size, BertHead head, const Degrees& degrees) {
  Stack stack = begin(name, family_of(head), size, degrees);
  Draft& draft = stack.draft;
  draft.net.source = "Devlin et al., BERT, NAACL 2019, arXiv:1810.04805";
  const OperatorId words = add_words(stack);
  const OperatorId positions = add_table(draft, "positions", size.positions, stack.rows());
  const OperatorId segments = add_table(draft, "segments", 2, stack.rows());
  const OperatorId sum = add_sum(draft, "sum", {words, positions, segments}, stack.activations());
  const OperatorId normal = add_norm(draft, "norm", sum, stack.rows());
  OperatorId stream = add_dropout_if(stack, size.dropouts.embedding, normal);
  for (std::int64_t block = 0; block < size.layers; ++block) stream = add_bert_block(stack, block, stream);
  draft.label = single_label(head == BertHead::Pooler ? "pooler" : "head");
  switch (head) {
    case BertHead::Pooler: add_pooler(stack, stream); break;
    case BertHead::Pretraining: add_pretraining_head(stack, stream); break;
    case BertHead::MaskedLanguage: add_masked_language_head(stack, stream); break;
  }
  return std::move(draft.net);
}

Architecture gpt_member(const std::string& name, const TransformerSize& size, const Degrees& degrees) {
  Stack stack = begin(name, "GPT", size, degrees);
  Draft& draft = stack.draft;
  draft.net.source = "Radford et al., Language Models are Unsupervised Multitask Learners, OpenAI 2019";
  const OperatorId words = add_words(stack);
  const OperatorId positions = add_table(draft, "positions", size.positions, stack.rows());
  const OperatorId sum = add_stream_sum(draft, "sum", {words, positions}, stack.activations());
  OperatorId stream = add_dropout_if(stack, size.dropouts.embedding, sum);
  for (std::int64_t block = 0; block < size.layers; ++block) stream = add_gpt_block(stack, block, stream);
  draft.label = single_label("head");
  const OperatorId normal = add_norm(draft, "norm", stream, stack.rows());
  add_group_loss(draft, add_logits(stack, normal, Bias::Without), stack.size.sequence, stack.size.vocabulary);
  return std::move(draft.net);
}

/// The network that `make` makes for the member of a group of these degrees, and how it is divided.
template <class Make>
Architecture divisible(const std::string& name, const TransformerSize& whole, const Make& make) {
  Architecture net = make(Degrees{});
  net.division.member = [name, whole, make](const Degrees& degrees) {
    require_divisible(name, {{"heads", whole.heads}, {"values inside an MLP", whole.feed_forward}}, whole.sequence,
                      degrees);
    return make(degrees);
  };
  return net;
}

}  // namespace

void require_countable(const TransformerSize& size) {
  const bool positive = size.layers > 0 && size.hidden > 0 && size.heads > 0 && size.sequence > 0 &&
                        size.vocabulary > 0 && size.positions > 0 && size.feed_forward >= 0;
  if (!positive) throw InputError("every size of a transformer must be at least 1");
  constexpr TransformerSize kMost = largest_transformer();
  const bool countable = size.layers <= kMost.layers && size.hidden <= kMost.hidden &&
                         size.feed_forward <= kMost.feed_forward && size.sequence <= kMost.sequence &&
                         size.positions <= kMost.positions && size.vocabulary <= kMost.vocabulary;
  if (!countable) throw InputError("a size is larger than supported for a transformer");
  if (size.hidden % size.heads != 0) {
    throw InputError("hidden must be a multiple of heads, found " + std::to_string(size.hidden) + " and " +
                     std::to_string(size.heads));
  }
  if (size.sequence > size.positions) {
    throw InputError("a sequence of " + std::to_string(size.sequence) + " tokens does not fit in " +
                     std::to_string(size.positions) + " positions");
  }
}

Architecture bert(const std::string& name, const TransformerSize& size, BertHead head) {
  require_countable(size);
  const TransformerSize whole = filled_transformer(size);
  return divisible(name, whole,
                   [name, whole, head](const Degrees& degrees) { return bert_member(name, whole, head, degrees); });
}

Architecture gpt(const std::string& name, const TransformerSize& size) {
  require_countable(size);
  const TransformerSize whole = filled_transformer(size);
  return divisible(name, whole, [name, whole](const Degrees& degrees) { return gpt_member(name, whole, degrees); });
}

}  // namespace stagecraft
