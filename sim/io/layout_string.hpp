#pragma once

#include "sim/base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// The symbols of a stage in Megatron-LM's `--pipeline-model-parallel-layout`, in their order: `E` the embedding, `t` a
/// block, `m` a layer that predicts further tokens, `L` the head with the loss. An empty stage has none.
using LayoutStage = std::string;

/// A layout as it is written, with the place of each symbol.
struct LayoutString {
  std::vector<LayoutStage> stages;
  /// By stage and symbol: where it stands, from 1 in the text. What one `*n` repeats has the place of the first.
  std::vector<std::vector<int>> columns;
  friend bool operator==(const LayoutString&, const LayoutString&) = default;
};

/// The stages of a layout: separated by `|`, with `x*n` for n times the symbol or separator x and `(…)*n` for n times
/// what stands in brackets, which have none inside. Commas say nothing. What Megatron-LM would read in another way than
/// it looks, such as `t*3,4`, is refused.
/// **Throws** InputError at `place`, whose column is that of the first character, moved to the first defect.
/// **Cost** O(text + symbols), of which there are a million at most.
/// **Source** NVIDIA/Megatron-LM, megatron/core/transformer/pipeline_parallel_layer_layout.py.
[[nodiscard]] LayoutString parse_layout(std::string_view text, const InputPlace& place);

/// The one way to write stages, which `parse_layout` reads back: runs of three symbols or more as `t*3`, runs of equal
/// stages as `(tt|)*14` where that is shorter. **Requires** at least one stage.
[[nodiscard]] std::string write_layout(const std::vector<LayoutStage>& stages);

/// The place of a character of a text that begins at `place`, by its column in the text.
[[nodiscard]] InputPlace place_in(InputPlace place, int column);

}  // namespace stagecraft
