#pragma once

#include "sim/workload/architecture.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

constexpr std::int64_t kTokenBytes = 8;        ///< token numbers are 64-bit integers
constexpr std::int64_t kDropoutMaskBytes = 1;  ///< one byte per value

/// Which layer and which block the operators being added belong to.
struct DraftLabel {
  std::string layer;
  std::string layer_type;
  std::string block;
  std::string block_type;
};

/// A tensor, and the layer for which the members of a group have gathered it last.
struct TensorReader {
  OperatorId tensor;
  std::string layer;
  friend bool operator==(const TensorReader&, const TensorReader&) = default;
};

/// A network of sequences under construction. Each function below appends one operator (or a few, where it says so)
/// to the layer of `label`, under a name that begins with the layer's, and returns the tensor it makes.
struct Draft {
  Architecture net;
  DraftLabel label;
  Degrees degrees;  ///< of the group of which the network is for one member
  TensorReader gathered;
};

OperatorId add_operator(Draft& draft, const std::string& name, Operator op);

/// A layer and block of its own, of no type.
[[nodiscard]] DraftLabel single_label(const std::string& name);

/// Vectors of a sequence.
struct Rows {
  std::int64_t count = 0;
  std::int64_t width = 0;
  [[nodiscard]] std::int64_t values() const { return count * width; }
};

enum class Bias { With, Without };

/// The operator of that name, which begins with its layer's. **Requires** one.
[[nodiscard]] OperatorId operator_named(const Draft& draft, std::string_view name);

/// Gives an operator its parameters: its own, or those of `owner`.
void set_parameters(Operator& op, std::int64_t parameters, OperatorId owner);

/// Looks `rows` vectors up in a table of `entries`: its own, or that of `owner`.
OperatorId add_table(Draft& draft, const std::string& name, std::int64_t entries, Rows rows,
                     OperatorId owner = OperatorId::none());

OperatorId add_sum(Draft& draft, const std::string& name, std::vector<OperatorId> terms, std::int64_t values);

/// The same of the stream that runs through the network: a residual block ends with it.
OperatorId add_stream_sum(Draft& draft, const std::string& name, std::vector<OperatorId> terms, std::int64_t values);

/// LayerNorm: scale and shift; mean and reciprocal deviation of each row are kept.
OperatorId add_norm(Draft& draft, const std::string& name, OperatorId input, Rows rows);

/// RMSNorm: scale only; the reciprocal root mean square of each row is kept.
OperatorId add_rms_norm(Draft& draft, const std::string& name, OperatorId input, Rows rows);

/// One byte of mask is kept for each value.
OperatorId add_dropout(Draft& draft, const std::string& name, OperatorId input, std::int64_t values);

/// A dense layer from rows of `from.width` values to rows of `to`.
OperatorId add_linear(Draft& draft, const std::string& name, OperatorId input, Rows from, std::int64_t to,
                      Bias bias = Bias::With);

/// An activation whose backward needs its input (GELU).
OperatorId add_gelu(Draft& draft, const std::string& name, OperatorId input, std::int64_t values);

/// An activation whose backward needs its output (tanh, ReLU).
OperatorId add_tanh(Draft& draft, const std::string& name, OperatorId input, std::int64_t values);

/// Says that the operator is a part of core attention, as the four below are: it stands between the tensors of queries,
/// keys and values and the output of attention that is not fused.
void set_core_attention(Draft& draft, OperatorId id);

/// Attention of `queries` positions to `keys` positions; `width` is heads times the size of a head.
struct AttentionShape {
  std::int64_t heads = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t width = 0;
  bool drops = true;  ///< weights of the attention
  [[nodiscard]] std::int64_t scores() const { return heads * queries * keys; }
  [[nodiscard]] std::int64_t head_size() const { return width / heads; }
};

/// Q K^T for each head, `scores`.
OperatorId add_scores(Draft& draft, OperatorId queries, OperatorId keys, const AttentionShape& shape);

/// The scale and the mask, `scale_mask`.
OperatorId add_mask(Draft& draft, OperatorId scores, const AttentionShape& shape);

/// `softmax`, `attention_dropout` and `context`: the softmax of masked scores, dropped out if `drops`, times V.
OperatorId add_context(Draft& draft, OperatorId masked, OperatorId values, const AttentionShape& shape);

/// All of softmax(Q K^T / sqrt(d) + mask) V with dropout; attention is computed in full, not fused. `queries`, `keys`,
/// `values` may be one tensor that holds all three.
OperatorId add_attention(Draft& draft, OperatorId queries, OperatorId keys, OperatorId values,
                         const AttentionShape& shape);

/// Attention in one kernel: `keys` is the most that a query reads, `twice_masked` twice the pairs of a query and such a
/// key that a causal mask hides.
struct FusedAttentionShape {
  std::int64_t heads = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t query_size = 0;  ///< values of a head of the queries and of the keys
  std::int64_t value_size = 0;  ///< values of a head of the values and of the output
  std::int64_t twice_masked = 0;
};

/// `attention`, which reads queries, keys and values, `read_values` in all, from `inputs`. It keeps them, its output
/// and the logarithm of the sum of each query's exponentials.
OperatorId add_fused_attention(Draft& draft, std::vector<OperatorId> inputs, std::int64_t read_values,
                               const FusedAttentionShape& shape);

/// `decoder`: the product with the transposed word table of the operator `words`.
OperatorId add_tied_decoder(Draft& draft, std::string_view words, OperatorId input, Rows rows, std::int64_t vocabulary,
                            Bias bias);

/// `log_softmax` and `loss`: cross-entropy over the vocabulary. The first keeps the logits in four bytes, whatever the
/// precision; the second writes its gradient without reading them.
OperatorId add_loss(Draft& draft, OperatorId logits, std::int64_t tokens, std::int64_t vocabulary);

}  // namespace stagecraft
