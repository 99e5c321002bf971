#include "sim/workload/decoder_group.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/group_draft.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace stagecraft {
namespace {

std::vector<DividedCount> divided_counts(const DecoderSize& size) {
  std::vector<DividedCount> counts{{"heads", size.heads}};
  if (size.latent.key_value_rank == 0) counts.push_back({"heads of keys and values", size.key_value_heads, true});
  const bool has_mlp = size.experts.count == 0 || size.experts.dense_layers > 0;
  if (has_mlp) counts.push_back({"values inside an MLP", size.feed_forward});
  if (size.experts.shared_feed_forward > 0) {
    counts.push_back({"values inside the shared experts", size.experts.shared_feed_forward});
  }
  return counts;
}

/// Why the members of a group cannot divide something; empty if they can.
using Defect = std::string;
using FindDefect = Defect (*)(const DecoderSize& whole, const Degrees& degrees);

Defect token_defect(const DecoderSize& whole, const Degrees& degrees) {
  if (degrees.context == 1) return "";
  const bool by_heads = degrees.attention == ContextAttention::AllToAll;
  const std::int64_t slices = by_heads ? degrees.context : 2 * degrees.context;
  if (whole.sequence % slices == 0) return "";
  return fmt::format("its number of tokens of a sample, {}, is not a multiple of {}{}", whole.sequence, slices,
                     by_heads ? "" : ", two slices for each device");
}

/// The heads of a tensor rank, which the members of a context group have for all tokens.
Defect head_defect(const DecoderSize& whole, const Degrees& degrees) {
  if (degrees.context == 1 || degrees.attention != ContextAttention::AllToAll) return "";
  const DecoderSize part = member_size(whole, degrees);
  const std::string of = degrees.tensor > 1 ? " of a tensor rank" : "";
  if (part.heads % degrees.context != 0) {
    return fmt::format("its number of heads{}, {}, is not a multiple of {}", of, part.heads, degrees.context);
  }
  if (whole.latent.key_value_rank > 0) return "";
  const std::int64_t narrow = part.key_value_heads;
  if (narrow % degrees.context == 0 || degrees.context % narrow == 0) return "";
  return fmt::format("its number of heads of keys and values{}, {}, neither divides {} nor is a multiple of it", of,
                     narrow, degrees.context);
}

Defect context_defect(const DecoderSize& whole, const Degrees& degrees) {
  const Defect tokens = token_defect(whole, degrees);
  return tokens.empty() ? head_defect(whole, degrees) : tokens;
}

Defect expert_defect(const DecoderSize& whole, const Degrees& degrees) {
  if (degrees.expert == 1) return "";
  if (whole.experts.count % degrees.expert != 0) {
    return fmt::format("its number of experts, {}, is not a multiple of {}", whole.experts.count, degrees.expert);
  }
  const std::int64_t devices = degrees.tensor * degrees.context;
  if (devices % degrees.expert == 0 || degrees.expert % devices == 0) return "";
  return fmt::format("{} neither divides the {} devices of its tensor and context groups nor is a multiple of them",
                     degrees.expert, devices);
}

/// The degrees that have no such defect, in place of `degree`.
std::string possible_degrees(const DecoderSize& whole, Degrees degrees, std::int64_t Degrees::* degree,
                             FindDefect find) {
  std::string list = "1";
  for (std::int64_t members = 2; members <= kMostInGroup; ++members) {
    degrees.*degree = members;
    if (find(whole, degrees).empty()) list += ", " + std::to_string(members);
  }
  return list;
}

[[noreturn]] void refuse(const std::string& name, const std::string& group, std::int64_t devices, const Defect& defect,
                         const std::string& hint) {
  throw InputError(fmt::format("{} cannot be divided into {} group of {} devices: {}", name, group, devices, defect),
                   {}, hint);
}

/// Keys and values that pass around a ring would reach members whose queries attend to none of them.
void require_no_window_in_ring(const std::string& name, const DecoderSize& whole, const Degrees& degrees) {
  if (degrees.context == 1 || degrees.attention != ContextAttention::Ring || whole.window >= whole.sequence) return;
  refuse(name, "a context", degrees.context,
         fmt::format("in a ring each token would attend to all before it, of {} tokens, but its window is {}",
                     whole.sequence, whole.window),
         "choose all-gather or all-to-all as the attention of context groups");
}

void require_context(const std::string& name, const DecoderSize& whole, const Degrees& degrees, FindDefect find) {
  const Defect defect = find(whole, degrees);
  if (defect.empty()) return;
  refuse(name, "a context", degrees.context, defect,
         "degrees that divide it: " + possible_degrees(whole, degrees, &Degrees::context, context_defect));
}

void require_expert(const std::string& name, const DecoderSize& whole, const Degrees& degrees) {
  const Defect defect = expert_defect(whole, degrees);
  if (!defect.empty()) {
    refuse(name, "an expert", degrees.expert, defect,
           "degrees that divide it: " + possible_degrees(whole, degrees, &Degrees::expert, expert_defect));
  }
  STAGECRAFT_CHECK(degrees.imbalance >= 1, "the busiest device has at least the mean of tokens");
}

}  // namespace

DecoderSize member_size(DecoderSize size, const Degrees& degrees) {
  const std::int64_t members = degrees.tensor;
  size.heads /= members;
  size.feed_forward /= members;
  size.experts.shared_feed_forward /= members;
  if (size.latent.key_value_rank == 0) {
    size.key_value_heads = std::max<std::int64_t>(1, size.key_value_heads / members);
  }
  size.vocabulary = vocabulary_rows(size.vocabulary, degrees);
  size.sequence /= degrees.context;
  return size;
}

void require_divisible_decoder(const std::string& name, const DecoderSize& whole, const Degrees& degrees) {
  require_context(name, whole, degrees, token_defect);
  require_no_window_in_ring(name, whole, degrees);
  require_divisible(name, divided_counts(whole), whole.sequence / degrees.context, degrees);
  require_context(name, whole, degrees, head_defect);
  require_expert(name, whole, degrees);
}

}  // namespace stagecraft
