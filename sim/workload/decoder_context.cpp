#include "sim/workload/decoder_parts.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

/// What a member has of one sample before and after the attention, in values.
struct OwnTensors {
  std::int64_t members = 1;
  std::int64_t tokens = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t values = 0;
  std::int64_t output = 0;
  [[nodiscard]] std::int64_t keys_values() const { return keys + values; }
};

OwnTensors own_tensors(const DecoderDraft& decoder, const HeadSizes& sizes) {
  OwnTensors own;
  own.members = decoder.draft.degrees.context;
  own.tokens = decoder.size.sequence;
  own.queries = own.tokens * decoder.size.heads * sizes.query;
  own.keys = own.tokens * sizes.key_value_heads * sizes.query;
  own.values = own.tokens * sizes.key_value_heads * sizes.value;
  own.output = own.tokens * decoder.size.heads * sizes.value;
  return own;
}

bool attends_by_heads(const DecoderDraft& decoder) {
  return decoder.draft.degrees.attention == ContextAttention::AllToAll;
}

/// Twice the pairs of the first `queries` of a sample with the keys that they attend to, at most `window` before each:
/// the pair of a query with itself counts half, as long as none is out of the window.
std::int64_t twice_pairs(std::int64_t queries, std::int64_t window) {
  return queries <= window ? queries * queries : 2 * queries * window - window * window;
}

/// Twice the pairs of the member that has most. A sample has 2c slices; member i has those at i and 2c-1-i. Without a
/// window they have equally many.
std::int64_t most_twice_pairs(const OwnTensors& own, std::int64_t window) {
  if (own.members == 1) return twice_pairs(own.tokens, window);
  const std::int64_t slice = own.tokens / 2;
  const auto of_slice = [&](std::int64_t at) {
    return twice_pairs((at + 1) * slice, window) - twice_pairs(at * slice, window);
  };
  std::int64_t most = 0;
  for (std::int64_t member = 0; member < own.members; ++member) {
    most = std::max(most, of_slice(member) + of_slice(2 * own.members - 1 - member));
  }
  return most;
}

FusedAttentionShape shape_of(const DecoderDraft& decoder, const OwnTensors& own, const HeadSizes& sizes) {
  const std::int64_t window = decoder.size.window;
  FusedAttentionShape shape{decoder.size.heads, own.tokens, window, sizes.query, sizes.value};
  if (attends_by_heads(decoder)) {
    shape.heads /= own.members;
    shape.queries *= own.members;
    shape.twice_masked = 2 * shape.queries * window - twice_pairs(shape.queries, window);
  } else {
    shape.twice_masked = 2 * shape.queries * window - most_twice_pairs(own, window);
  }
  return shape;
}

/// What the attention reads: a member's queries, and the keys and values that these attend to.
std::int64_t read_values(const DecoderDraft& decoder, const OwnTensors& own) {
  const std::int64_t seen = std::min(own.members * own.tokens, own.tokens + 2 * decoder.size.window);
  return own.queries + own.keys_values() / own.tokens * seen;
}

OperatorExchange in_context(Exchange::Kind kind, bool backward, std::int64_t values) {
  return {.kind = kind, .backward = backward, .values = values, .among = Exchange::Among::Context};
}

/// While a member attends to the keys and values that it has, the next ones come. In the backward their gradients pass
/// with them, and go one step further to the member whose they are.
void add_ring(GroupPart& part, const OwnTensors& own) {
  using enum Exchange::Kind;
  OperatorExchange forward = in_context(Shift, false, own.keys_values());
  OperatorExchange backward = in_context(Shift, true, 2 * own.keys_values());
  forward.count = backward.count = own.members - 1;
  forward.beside_part = backward.beside_part = own.members;
  part.exchanges = {forward, backward, in_context(Shift, true, own.keys_values())};
  part.gathered_values = 2 * own.keys_values();
  part.gathered_part = own.keys_values();
}

void add_gathers(GroupPart& part, const OwnTensors& own) {
  using enum Exchange::Kind;
  const std::int64_t all = own.members * own.keys_values();
  part.exchanges = {in_context(AllGather, false, all), in_context(AllGather, true, all),
                    in_context(ReduceScatter, true, all)};
  part.gathered_values = all;
  part.gathered_part = own.keys_values();
}

/// The attention keeps what it has after the exchanges. The product behind it keeps the output once more; so does the
/// norm of queries and keys what it made. One tensor at a time is there before and after its exchange.
void add_head_exchanges(Draft& draft, OperatorId attention, const OwnTensors& own, const OwnTensors& copied) {
  GroupPart& part = draft.net.operators[attention].kernel.group;
  for (const bool backward : {false, true}) {
    for (const std::int64_t values : {copied.queries, copied.keys, copied.values, copied.output}) {
      part.exchanges.push_back(in_context(Exchange::Kind::AllToAll, backward, values));
    }
  }
  part.kept_values = own.output + copied.keys_values() - own.keys_values();
  for (const OperatorId input : draft.net.operators[attention].inputs) {
    const Operator& made = draft.net.operators[input];
    if (made.saves_output) part.kept_values += made.output_values;
  }
  part.gathered_values = part.gathered_part = std::max({copied.queries, copied.keys, copied.values, copied.output});
}

}  // namespace

OperatorId add_decoder_fused_attention(DecoderDraft& decoder, std::vector<OperatorId> inputs, const HeadSizes& sizes) {
  const OwnTensors own = own_tensors(decoder, sizes);
  const FusedAttentionShape shape = shape_of(decoder, own, sizes);
  HeadSizes copies = sizes;  // fewer heads than members are copied, so that each has one
  copies.key_value_heads = std::max(sizes.key_value_heads, own.members);
  const OwnTensors copied = own_tensors(decoder, copies);
  const std::int64_t read =
      attends_by_heads(decoder) ? copied.queries + copied.keys_values() : read_values(decoder, own);
  const OperatorId attention = add_fused_attention(decoder.draft, std::move(inputs), read, shape);
  if (own.members == 1) return attention;
  GroupPart& part = decoder.draft.net.operators[attention].kernel.group;
  switch (decoder.draft.degrees.attention) {
    case ContextAttention::Ring: add_ring(part, own); break;
    case ContextAttention::AllGather: add_gathers(part, own); break;
    case ContextAttention::AllToAll: add_head_exchanges(decoder.draft, attention, own, copied); break;
  }
  return attention;
}

}  // namespace stagecraft
