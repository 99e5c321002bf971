#pragma once

#include "sim/workload/decoder.hpp"
#include "sim/workload/group_draft.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// A decoder under construction; no size of it is left to a default. Sizes that the members of a group divide are those
/// of one member (`member_size`).
struct DecoderDraft {
  Draft draft;
  DecoderSize size;
  [[nodiscard]] Rows all_rows() const { return {size.sequence, size.hidden}; }
  [[nodiscard]] Rows rows() const { return own_rows(draft, all_rows()); }  ///< of the stream
};

/// The family's norm.
OperatorId add_decoder_norm(DecoderDraft& decoder, const std::string& name, OperatorId input, Rows rows);

/// From the normalised stream to the product after the attention.
OperatorId add_decoder_attention(DecoderDraft& decoder, OperatorId normal);

/// Values of a head, and how many heads a member has of keys and of values.
struct HeadSizes {
  std::int64_t key_value_heads = 0;
  std::int64_t query = 0;  ///< of queries and keys
  std::int64_t value = 0;  ///< of values and the output
};

/// `attention` of a member's queries to keys and values of the whole sample, with what a context group exchanges for
/// it. `inputs` hold queries, keys and values.
OperatorId add_decoder_fused_attention(DecoderDraft& decoder, std::vector<OperatorId> inputs, const HeadSizes& sizes);

/// An MLP on rows of the hidden size, as many as `inner`.
struct DecoderMlp {
  std::string prefix;        ///< of its names
  Rows inner;                ///< of one member, where they divide it
  std::int64_t experts = 0;  ///< of a member, each with such parameters; 0: it is one that a tensor group divides
  Sum sum = Sum::Here;
};
OperatorId add_decoder_mlp(DecoderDraft& decoder, OperatorId input, const DecoderMlp& mlp);

/// From the normalised stream to what is added to it: the sum over the visited experts, and that of the shared ones.
std::vector<OperatorId> add_decoder_experts(DecoderDraft& decoder, OperatorId normal);

}  // namespace stagecraft
