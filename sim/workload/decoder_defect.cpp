#include "sim/workload/decoder.hpp"

#include <fmt/core.h>

#include <vector>

namespace stagecraft {
namespace {

/// One size, as the file's key names it.
struct SizeCount {
  const char* key;
  std::int64_t value;
  std::int64_t least;
};

std::vector<SizeCount> counts_of(const DecoderSize& size) {
  return {{"layers", size.layers, 1},
          {"hidden", size.hidden, 1},
          {"heads", size.heads, 1},
          {"key_value_heads", size.key_value_heads, 0},
          {"head_size", size.head_size, 0},
          {"feed_forward", size.feed_forward, 0},
          {"sequence", size.sequence, 1},
          {"vocabulary", size.vocabulary, 1},
          {"embedding_size", size.embedding_size, 0},
          {"positions", size.positions, 0},
          {"window", size.window, 0},
          {"experts", size.experts.count, 0},
          {"active_experts", size.experts.active, 0},
          {"expert_feed_forward", size.experts.feed_forward, 0},
          {"shared_feed_forward", size.experts.shared_feed_forward, 0},
          {"dense_layers", size.experts.dense_layers, 0},
          {"query_rank", size.latent.query_rank, 0},
          {"key_value_rank", size.latent.key_value_rank, 0},
          {"nope_size", size.latent.nope, 0},
          {"rope_size", size.latent.rope, 0},
          {"value_size", size.latent.value, 0}};
}

std::optional<DecoderDefect> defect_of_counts(const DecoderSize& size) {
  const std::vector<SizeCount> counts = counts_of(size);
  const std::vector<SizeCount> most = counts_of(largest_decoder());
  for (std::size_t at = 0; at < counts.size(); ++at) {
    const SizeCount& count = counts[at];
    if (count.value >= count.least && count.value <= most[at].value) continue;
    return DecoderDefect{count.key, fmt::format("a whole number from {} to {}", count.least, most[at].value)};
  }
  return std::nullopt;
}

/// That the values of all heads together are countable; sizes are at most 2^17 here.
std::optional<DecoderDefect> defect_of_heads(const DecoderSize& size) {
  const std::int64_t most = largest_decoder().head_size;
  const std::string expected = fmt::format("at most {} values in all 'heads'", most);
  if (size.latent.key_value_rank > 0) {
    if (size.head_size != 0) return DecoderDefect{"head_size", "none beside the sizes of latent attention"};
    if (size.key_value_heads != 0) return DecoderDefect{"key_value_heads", "none with latent attention"};
    if (size.latent.nope + size.latent.rope == 0) return DecoderDefect{"nope_size", "at least 1, or a 'rope_size'"};
    if (size.latent.value == 0) return DecoderDefect{"value_size", "at least 1"};
    if (size.heads * (size.latent.nope + size.latent.rope) > most) return DecoderDefect{"nope_size", expected};
    if (size.heads * size.latent.value > most) return DecoderDefect{"value_size", expected};
    return std::nullopt;
  }
  if (size.head_size == 0 && size.hidden % size.heads != 0) {
    return DecoderDefect{"hidden", fmt::format("a multiple of 'heads', {}", size.heads)};
  }
  if (size.heads * size.head_size > most) return DecoderDefect{"head_size", expected};
  if (size.key_value_heads != 0 && size.heads % size.key_value_heads != 0) {
    return DecoderDefect{"key_value_heads", fmt::format("a divisor of 'heads', {}", size.heads)};
  }
  return std::nullopt;
}

std::optional<DecoderDefect> defect_of_experts(const DecoderSize& size) {
  const ExpertSize& experts = size.experts;
  if (experts.count == 0) {
    return experts == ExpertSize{} ? std::nullopt : std::optional(DecoderDefect{"experts", "at least 1"});
  }
  if (experts.active < 1 || experts.active > experts.count) {
    return DecoderDefect{"active_experts", fmt::format("from 1 to 'experts', {}", experts.count)};
  }
  if (experts.feed_forward < 1) return DecoderDefect{"expert_feed_forward", "at least 1"};
  const std::int64_t most = largest_decoder().feed_forward;
  if (experts.active * experts.feed_forward > most) {
    return DecoderDefect{"expert_feed_forward", fmt::format("at most {} in all active experts", most)};
  }
  if (experts.dense_layers > size.layers) {
    return DecoderDefect{"dense_layers", fmt::format("at most 'layers', {}", size.layers)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<DecoderDefect> defect_of(const DecoderSize& size) {
  if (const auto defect = defect_of_counts(size)) return defect;
  if (const auto defect = defect_of_heads(size)) return defect;
  if (const auto defect = defect_of_experts(size)) return defect;
  if (size.positions > 0 && size.sequence > size.positions) {
    return DecoderDefect{"positions", fmt::format("at least 'sequence', {}", size.sequence)};
  }
  if (size.form.normalize_after && size.form.halves != DecoderHalves::Sequential) {
    return DecoderDefect{"normalize", "'before' where attention and MLP are parallel"};
  }
  return std::nullopt;
}

}  // namespace stagecraft
