#pragma once

#include "sim/workload/decoder.hpp"
#include "sim/workload/group_draft.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// A decoder under construction; no size of it is left to a default. Sizes that the members of a tensor group divide
/// are those of one member.
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

/// An MLP on rows of the hidden size, as many as `inner`.
struct DecoderMlp {
  std::string prefix;        ///< of its names
  Rows inner;                ///< of one member, where they divide it
  std::int64_t experts = 0;  ///< its parameters are there so many times; 0: it is one that a tensor group divides
  Sum sum = Sum::Here;
};
OperatorId add_decoder_mlp(DecoderDraft& decoder, OperatorId input, const DecoderMlp& mlp);

/// From the normalised stream to what is added to it: the sum over the visited experts, and that of the shared ones.
std::vector<OperatorId> add_decoder_experts(DecoderDraft& decoder, OperatorId normal);

}  // namespace stagecraft
