#pragma once

#include "sim/workload/decoder.hpp"
#include "sim/workload/draft.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// A decoder under construction; no size of it is left to a default.
struct DecoderDraft {
  Draft draft;
  DecoderSize size;
  [[nodiscard]] Rows rows() const { return {size.sequence, size.hidden}; }
};

/// The family's norm.
OperatorId add_decoder_norm(DecoderDraft& decoder, const std::string& name, OperatorId input, Rows rows);

/// From the normalised stream to the product after the attention.
OperatorId add_decoder_attention(DecoderDraft& decoder, OperatorId normal);

/// The MLP of inner rows `inner` on rows of the hidden size, of as many. Its names begin with `prefix`; all parameters
/// are there `copies` times, one for each expert.
OperatorId add_decoder_mlp(DecoderDraft& decoder, const std::string& prefix, OperatorId input, Rows inner,
                           std::int64_t copies = 1);

/// From the normalised stream to what is added to it: the sum over the visited experts, and that of the shared ones.
std::vector<OperatorId> add_decoder_experts(DecoderDraft& decoder, OperatorId normal);

}  // namespace stagecraft
