#include "sim/io/megatron_network.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>

#include <array>
#include <cstdint>

namespace stagecraft {
namespace {

constexpr std::int64_t kUsualVisits = 2;     ///< of a token to experts
constexpr std::int64_t kGatedMultiple = 64;  ///< of the usual inner size of an MLP with a gate

/// A flag and the size that it says.
struct SizeFlag {
  const char* name;
  NetworkSizes::Size NetworkSizes::* size;
  const char* what;
};

constexpr std::array kSizeFlags{
    SizeFlag{"hidden-size", &NetworkSizes::hidden, "hidden size"},
    SizeFlag{"num-attention-heads", &NetworkSizes::heads, "number of heads"},
    SizeFlag{"num-query-groups", &NetworkSizes::key_value_heads, "number of heads of keys and values"},
    SizeFlag{"kv-channels", &NetworkSizes::head_size, "size of a head"},
    SizeFlag{"ffn-hidden-size", &NetworkSizes::feed_forward, "inner size of an MLP"},
    SizeFlag{"vocab-size", &NetworkSizes::vocabulary, "vocabulary"},
    SizeFlag{"padded-vocab-size", &NetworkSizes::vocabulary, "vocabulary"},
    SizeFlag{"max-position-embeddings", &NetworkSizes::positions, "number of positions"},
    SizeFlag{"num-experts", &NetworkSizes::experts, "number of experts"},
    SizeFlag{"moe-router-topk", &NetworkSizes::active_experts, "number of experts that a token visits"},
    SizeFlag{"moe-ffn-hidden-size", &NetworkSizes::expert_feed_forward, "inner size of an expert"},
    SizeFlag{"moe-shared-expert-intermediate-size", &NetworkSizes::shared_feed_forward,
             "inner size of the shared experts"},
    SizeFlag{"q-lora-rank", &NetworkSizes::query_rank, "latent vector of the queries"},
    SizeFlag{"kv-lora-rank", &NetworkSizes::key_value_rank, "latent vector of keys and values"},
    SizeFlag{"qk-head-dim", &NetworkSizes::nope, "part of a head without position"},
    SizeFlag{"qk-pos-emb-head-dim", &NetworkSizes::rope, "part of a head with position"},
    SizeFlag{"v-head-dim", &NetworkSizes::value, "size of a head of the values"},
};

std::int64_t usual_feed_forward(std::int64_t hidden, bool is_gated) {
  return is_gated ? 8 * hidden / 3 / kGatedMultiple * kGatedMultiple : 4 * hidden;
}

/// Sets a size that is not given.
void set_usual(NetworkSizes::Size& size, const NetworkSizes::Size& usual) {
  if (!size) size = usual;
}

void fill_attention(MegatronFlags& flags, MegatronNetwork& network) {
  NetworkSizes& sizes = network.sizes;
  const bool has_groups = flags.take_switch("group-query-attention");
  if (sizes.key_value_heads && !has_groups) {
    throw InputError("needs --group-query-attention, without which Megatron-LM has no groups",
                     flags.place("num-query-groups"));
  }
  if (has_groups) set_usual(sizes.key_value_heads, 1);
  if (network.is_latent) return;
  set_usual(sizes.key_value_heads, sizes.heads);
  if (sizes.hidden && sizes.heads) set_usual(sizes.head_size, *sizes.hidden / *sizes.heads);
}

/// The defaults of Megatron-LM for what the flags leave out of a network.
void fill_in(const MegatronFlags& flags, MegatronNetwork& network) {
  NetworkSizes& sizes = network.sizes;
  if (network.is_whole) {
    set_usual(sizes.feed_forward, usual_feed_forward(*sizes.hidden, flags.has("swiglu")));
    set_usual(sizes.experts, 0);
  }
  if (sizes.experts.value_or(0) == 0) return;
  set_usual(sizes.active_experts, kUsualVisits);
  set_usual(sizes.expert_feed_forward, sizes.feed_forward);
  set_usual(sizes.shared_feed_forward, 0);
}

/// Rows of the table of words with those that Megatron-LM adds, so that the members of a group have equal parts.
std::int64_t padded_words(std::int64_t words, const MegatronRun& run) {
  const std::int64_t multiple = run.words_multiple * run.degrees.tensor;
  return (words + multiple - 1) / multiple * multiple;
}

/// Whether one vocabulary is the other one with the rows that Megatron-LM adds.
bool differ_by_padding(std::int64_t said, std::int64_t own, const MegatronNetwork& network, const MegatronRun& run) {
  return network.has_padded_words ? padded_words(own, run) == said : padded_words(said, run) == own;
}

[[noreturn]] void refuse_size(const SizeFlag& flag, std::int64_t said, std::int64_t known, const MegatronFlags& flags,
                              const std::string& model) {
  if (flags.has(flag.name)) {
    throw InputError(fmt::format("the {} of the model {} is {}, not {}", flag.what, quote(model), known, said),
                     flags.value_place(flag.name), "give the model of this run, as --model");
  }
  throw InputError(fmt::format("is not given, and Megatron-LM then has {}, but the {} of the model {} is {}", said,
                               flag.what, quote(model), known),
                   flags.place(flag.name), "give it, or leave out --hidden-size and all that describes the network");
}

void refuse_other_attention(const MegatronNetwork& network, const MegatronFlags& flags, const NetworkSizes& known,
                            const std::string& model) {
  const InputPlace place = flags.place("multi-latent-attention");
  const bool model_is_latent = known.key_value_rank.value_or(0) > 0;
  if (network.is_latent && !model_is_latent) {
    throw InputError("the model " + quote(model) + " has no latent vectors", place);
  }
  if (network.is_whole && !network.is_latent && model_is_latent) {
    throw InputError("is not given, but the model " + quote(model) + " makes keys and values from a latent vector",
                     place);
  }
}

void refuse_few_positions(const MegatronNetwork& network, const MegatronRun& run, const MegatronFlags& flags,
                          const LayerGraph& graph) {
  const std::int64_t tokens = run.sequence.value_or(graph.work.tokens);
  if (network.sizes.positions.value_or(tokens) >= tokens) return;
  throw InputError(
      fmt::format("{} are fewer than the {} of a sample", counted(*network.sizes.positions, "position"),
                  counted(tokens, "token")),
      flags.value_place("max-position-embeddings"),
      run.sequence ? "Megatron-LM needs at least --seq-length" : "--seq-length says how many a sample has");
}

}  // namespace

MegatronNetwork read_megatron_network(MegatronFlags& flags) {
  MegatronNetwork network;
  for (const SizeFlag& flag : kSizeFlags) {
    if (const auto size = flags.take_count(flag.name, 1)) network.sizes.*flag.size = size;
  }
  network.has_padded_words = flags.has("padded-vocab-size");
  network.is_whole = network.sizes.hidden.has_value();
  network.is_latent = flags.take_switch("multi-latent-attention");
  fill_attention(flags, network);
  fill_in(flags, network);
  return network;
}

NetworkSizes::Size padded_vocabulary(const MegatronNetwork& network, const MegatronRun& run) {
  const NetworkSizes::Size& words = network.sizes.vocabulary;
  return !words || network.has_padded_words ? words : padded_words(*words, run);
}

std::vector<std::string> compare_network(const MegatronNetwork& network, const MegatronRun& run,
                                         const MegatronFlags& flags, const std::optional<NetworkSizes>& known,
                                         const LayerGraph& graph) {
  const NetworkSizes& said = network.sizes;
  refuse_few_positions(network, run, flags, graph);
  std::vector<std::string> not_compared;
  for (const SizeFlag& flag : kSizeFlags) {
    const NetworkSizes::Size size = said.*flag.size;
    const NetworkSizes::Size own = known ? *known.*flag.size : std::nullopt;
    const bool is_vocabulary = flag.size == &NetworkSizes::vocabulary;
    if (flag.size == &NetworkSizes::positions && own == 0) continue;  // a network without a table of them
    if (is_vocabulary && !flags.has(flag.name)) continue;             // two flags say it, and it has no default
    if (size && own) {
      const bool is_padded = is_vocabulary && differ_by_padding(*size, *own, network, run);
      if (*size != *own && !is_padded) refuse_size(flag, *size, *own, flags, graph.name);
    } else if (flags.has(flag.name)) {
      not_compared.push_back(std::string("--") + flag.name);
    }
  }
  if (known) {
    refuse_other_attention(network, flags, *known, graph.name);
    // Without a size of their own experts have that of an MLP, so it was compared with theirs.
    if (said.feed_forward && said.expert_feed_forward == said.feed_forward)
      std::erase(not_compared, "--ffn-hidden-size");
  }
  return not_compared;
}

}  // namespace stagecraft
