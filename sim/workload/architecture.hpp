#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/degrees.hpp"
#include "sim/model/exchange.hpp"
#include "sim/workload/network_sizes.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

using OperatorId = Index<struct OperatorTag>;

/// The kind of an operator, which determines how it is timed and what its backward does.
enum class OperatorKind {
  Convolution,    ///< weighted
  Linear,         ///< weighted
  Matmul,         ///< product of two activations, no weights
  Attention,      ///< fused: both products and the softmax between them; scores are never stored
  Embedding,      ///< a table whose rows are looked up; its gradient is as large as the table
  Pooling,        ///< the backward reads the kept indices only
  Pointwise,      ///< activation, dropout, addition, loss: bound by memory traffic
  Softmax,        ///< bound by memory traffic
  Loss,           ///< an operator of two of a loss over words, each of which reads the logits; bound by memory traffic
  Normalization,  ///< bound by memory traffic
  Recurrent,      ///< weighted; one product over the whole sequence, then one small product for each step
};

/// The part of a recurrent operator that is repeated; each step waits for the previous one.
struct Recurrence {
  std::int64_t steps = 0;
  std::int64_t macs = 0;        ///< of the one product that a step does; those of all steps are part of the operator's
  std::int64_t parameters = 0;  ///< read anew in each step; part of the operator's
  friend bool operator==(const Recurrence&, const Recurrence&) = default;
};

/// What the members of a group exchange for one operator and one sample.
struct OperatorExchange {
  Exchange::Kind kind = Exchange::Kind::AllReduce;
  bool backward = false;    ///< else in the forward
  bool hidden = false;      ///< beside a product
  std::int64_t values = 0;  ///< of the whole tensor, in the precision
  std::int64_t bytes = 0;   ///< likewise, in any precision
  Exchange::Among among = Exchange::Among::Tensor;
  std::int64_t count = 1;
  std::int64_t beside_part = 0;  ///< each runs beside such a part of the operator's own time; 0: beside nothing
  friend bool operator==(const OperatorExchange&, const OperatorExchange&) = default;
};

/// What an operator does because its device is a member of a group.
struct GroupPart {
  std::int64_t gathered_values = 0;  ///< of others' and its own part of the input; held while it runs
  std::int64_t gathered_part = 0;    ///< the part of these that is in its own input
  std::int64_t kept_values = 0;      ///< kept for the backward a second time: before and after an exchange
  std::int64_t made_values = 0;      ///< what it makes, of which its output is a part; 0: the output
  std::vector<OperatorExchange> exchanges;
  friend bool operator==(const GroupPart&, const GroupPart&) = default;
};

/// Experts of a block; a token visits some of them.
struct RoutedExperts {
  std::int64_t count = 0;   ///< 0: there are none
  std::int64_t active = 0;  ///< that a token visits, on this or on other devices
  friend bool operator==(const RoutedExperts&, const RoutedExperts&) = default;
};

/// The product that attention has for each head, of rows x `inner` and `inner` x `columns` values.
struct HeadProduct {
  std::int64_t inner = 0;
  std::int64_t columns = 0;  ///< 0: it is another product
  friend bool operator==(const HeadProduct&, const HeadProduct&) = default;
};

/// What the kernels of some operators do beside or otherwise than the counts of the operator say.
struct KernelDetail {
  double winograd_expansion = 0.0;  ///< points of F(4x4, 3x3) tiles per output pixel; 0: not a 3x3 stride-1 convolution
  std::int64_t masked_macs = 0;     ///< of the operator's, those that fused attention skips: the causal mask hides them
  bool core_attention = false;      ///< of unfused attention, from the scores to the product with the values
  HeadProduct head;                 ///< of a product of activations
  RoutedExperts experts;            ///< of a product that each of them has, which an expert group divides
  GroupPart group;
  friend bool operator==(const KernelDetail&, const KernelDetail&) = default;
};

/// An earlier operator, all of whose parameters another one shares.
struct TiedOperator {
  OperatorId owner;  ///< none: the parameters are a copy that is trained by itself, or there are none
  std::int64_t parameters = 0;
  friend bool operator==(const TiedOperator&, const TiedOperator&) = default;
};

/// One operator of a network as one sample sees it. A network is a list of them in topological order.
///
/// `macs` counts multiply-accumulates of convolutions and matrix products only, as published figures do; one is two
/// floating-point operations. Values and parameters take the bytes of the precision that the model is
/// built for.
struct Operator {
  std::string name;  ///< no other operator of the network has it
  OperatorKind kind = OperatorKind::Pointwise;
  std::vector<OperatorId> inputs;  ///< producers of the tensors it reads; `none()` is the network's input
  std::int64_t input_values = 0;   ///< read by the forward
  std::int64_t output_values = 0;  ///< of its one output tensor
  std::int64_t macs = 0;           ///< of the forward
  std::int64_t parameters = 0;     ///< its own
  TiedOperator tied;               ///< further parameters, which are another operator's
  Recurrence recurrence;           ///< of a recurrent operator
  bool constant_input = false;     ///< the gradient of its inputs is not needed
  bool ends_residual = false;      ///< an addition that ends a layer at `Granularity::Residual`
  bool saves_input = false;        ///< the backward needs all tensors in `inputs`
  bool saves_output = false;       ///< the backward needs the output tensor
  std::int64_t saved_values = 0;   ///< activations kept beside tensors: gates and cells
  std::int64_t saved_bytes = 0;    ///< kept beside tensors: masks, indices, statistics, the logits of a loss
  KernelDetail kernel;
  std::string layer;       ///< the layer it belongs to at `Granularity::Layer`
  std::string layer_type;  ///< equal for layers with equal numbers; may be empty
  std::string block;       ///< the layer it belongs to at `Granularity::Block`
  std::string block_type;
  friend bool operator==(const Operator&, const Operator&) = default;
};

struct Architecture;

/// How a network is divided among the members of a group: what its sizes are is all that it depends on, so it tells no
/// two networks apart.
struct Division {
  std::function<Architecture(const Degrees&)> member;  ///< none: it cannot be divided
  bool by_tokens = false;                              ///< also by a context group
  friend bool operator==(const Division& /*a*/, const Division& /*b*/) { return true; }
};

/// A network, independent of device and microbatch size.
struct Architecture {
  std::string name;
  std::string summary;
  std::string source;            ///< where the network was published
  std::int64_t input_bytes = 0;  ///< of one sample
  std::int64_t tokens = 0;       ///< of one sample, which an encoder reads if there is one; 0: it is no sequence
  std::optional<NetworkSizes> sizes = {};  ///< of the whole network; none where it is of another form
  IndexVector<OperatorId, Operator> operators;
  Division division;
  bool recomputes_attention = false;  ///< see `with_selective_recompute`
  friend bool operator==(const Architecture&, const Architecture&) = default;
};

/// The part of a network that becomes one layer of the profile.
enum class Granularity {
  Operator,  ///< every operator
  Layer,     ///< a module of a convolutional network; the attention half or the MLP half of a transformer block
  Residual,  ///< the operators up to an addition of the network's stream: vPipe's block
  Block,     ///< the convolutions up to a pooling; a transformer block
};

[[nodiscard]] const char* to_string(Granularity granularity);
/// The granularity of that name; none for other names.
[[nodiscard]] std::optional<Granularity> granularity_of(std::string_view name);

/// The network as one member of a group has it: its part of the weights, of heads, inner sizes and rows of the table of
/// words; of a sample's tokens; of the experts, with the tokens of the busiest member; and what it exchanges. It has
/// the operators of the whole, by the same names. Where members of a context group differ, the busiest is meant. A
/// group of one device has the whole, and pads nothing.
/// **Requires** degrees of at least 1. **Throws** InputError for a network that cannot be divided so.
/// **Source** M. Shoeybi et al., "Megatron-LM", 2019, arXiv:1909.08053; with sequence parallelism V. Korthikanti et
/// al., "Reducing Activation Recomputation in Large Transformer Models", MLSys 2023, arXiv:2205.05198. Context groups:
/// H. Liu et al., "Ring Attention with Blockwise Transformers for Near-Infinite Context", ICLR 2024, arXiv:2310.01889;
/// gathered: A. Dubey et al., "The Llama 3 Herd of Models", 2024, arXiv:2407.21783, section 3.3.2; by heads:
/// S. Jacobs et al., "DeepSpeed Ulysses", 2023, arXiv:2309.14509. Expert groups: D. Lepikhin et al., "GShard", ICLR
/// 2021, arXiv:2006.16668.
[[nodiscard]] Architecture member_of(const Architecture& whole, const Degrees& degrees);

/// Selective recomputation: the network whose backward computes unfused attention again, all operators from the scores
/// to the product with the values, before it computes their gradients. Of tensors that these make, it keeps none for
/// them. A network without such operators stays as it is; fused attention does the same in its own kernel.
/// **Source** V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", MLSys 2023,
/// arXiv:2205.05198.
[[nodiscard]] Architecture with_selective_recompute(Architecture architecture);

/// Whether the backward computes the operator again, before its gradients.
[[nodiscard]] bool is_recomputed(const Architecture& architecture, OperatorId id);

/// The number of distinct parameters, as publications count them: without tied copies.
[[nodiscard]] std::int64_t parameter_count(const Architecture& architecture);

/// Of the distinct parameters of a whole network those that one token uses: of experts the ones that it visits, and
/// everything else, tables of words and positions in full. Equal to `parameter_count` without experts.
[[nodiscard]] std::int64_t active_parameter_count(const Architecture& architecture);

/// The number of parameters that are copies because an operator shares another one's (a tied head).
[[nodiscard]] std::int64_t tied_parameter_count(const Architecture& architecture);

/// Forward operations of one sample, two for each multiply-accumulate.
[[nodiscard]] Flops forward_flops(const Architecture& architecture);

/// Of those, the operations that fused attention leaves out because the causal mask hides their results.
[[nodiscard]] Flops masked_flops(const Architecture& architecture);

}  // namespace stagecraft
