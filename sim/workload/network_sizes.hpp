#pragma once

#include <cstdint>
#include <optional>

namespace stagecraft {

/// The sizes of a language model as other programs give them, too. None: it is not said; 0: the network has no such
/// part.
struct NetworkSizes {
  using Size = std::optional<std::int64_t>;
  Size hidden = {};               ///< values of a token
  Size heads = {};                ///< of the queries
  Size key_value_heads = {};      ///< not said where keys and values are made from a latent vector
  Size head_size = {};            ///< values of a head; likewise
  Size feed_forward = {};         ///< inner size of the MLP; not said where every block has experts in its place
  Size vocabulary = {};           ///< rows of the word table
  Size positions = {};            ///< rows of a learned position table
  Size experts = {};              ///< of a block
  Size active_experts = {};       ///< that a token visits
  Size expert_feed_forward = {};  ///< inner size of one expert
  Size shared_feed_forward = {};  ///< inner size of the experts that every token visits, together
  Size query_rank = {};           ///< values of the latent vector of the queries
  Size key_value_rank = {};       ///< values of the latent vector of keys and values
  Size nope = {};                 ///< values of a head without position
  Size rope = {};                 ///< values of a head with rotary position
  Size value = {};                ///< values of a head of the values
  friend bool operator==(const NetworkSizes&, const NetworkSizes&) = default;
};

}  // namespace stagecraft
