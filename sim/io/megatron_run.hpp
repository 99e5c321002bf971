#pragma once

#include "sim/base/error.hpp"
#include "sim/io/layout_string.hpp"
#include "sim/io/megatron_flags.hpp"
#include "sim/model/degrees.hpp"
#include "sim/model/optimizer_recipe.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace stagecraft {

/// How Megatron-LM divides the blocks among stages where no layout does, and what it then finds.
struct MegatronSplit {
  std::optional<std::int64_t> blocks_of_chunk;      ///< of each virtual stage
  std::optional<std::int64_t> chunks;               ///< virtual stages of each pipeline rank
  std::optional<std::int64_t> first;                ///< blocks of the first pipeline rank, in all its virtual stages
  std::optional<std::int64_t> last;                 ///< of the last one
  bool counts_embedding = false;                    ///< the embedding counts as a block, and so
  bool counts_loss = false;                         ///< does the loss
  std::optional<std::int64_t> virtual_stages = {};  ///< of a rank, which follow from the rest or from a layout
  friend bool operator==(const MegatronSplit&, const MegatronSplit&) = default;
};

/// Full recomputation: segments of so many blocks, or each of the first so many blocks of every stage.
struct MegatronRecompute {
  bool in_segments = true;  ///< the method `uniform`; else `block`
  std::int64_t blocks = 1;
  friend bool operator==(const MegatronRecompute&, const MegatronRecompute&) = default;
};

/// What the flags of a run of Megatron-LM say about its pipeline, its groups and its memory.
struct MegatronRun {
  std::optional<std::int64_t> ranks = {};  ///< as the launcher has them
  std::int64_t pipeline = 1;               ///< ranks of a pipeline
  Degrees degrees = {};
  std::int64_t words_multiple = 1;  ///< times the tensor degree: the table's rows are padded to a multiple of it
  std::optional<LayoutString> layout = {};  ///< in place of `split`
  MegatronSplit split = {};
  std::optional<std::int64_t> group =
      {};                             ///< microbatches that go through a virtual stage before the next; a rank each
  bool pipelines_first = false;       ///< ranks of a pipeline stand together, not those with the same stage
  bool divides_experts_alone = true;  ///< not among the members of a tensor group as well
  std::int64_t microbatch_size = 1;
  std::optional<std::int64_t> global_batch = {};  ///< one microbatch for each data-parallel rank
  std::string precision = "fp32";
  OptimizerRecipe recipe = OptimizerRecipe::Fp32;
  std::int64_t zero = 0;
  bool has_buckets = false;                 ///< gradients are exchanged during the last backward
  std::optional<std::int64_t> bucket = {};  ///< parameters of a bucket; Megatron-LM's own number
  std::optional<MegatronRecompute> recompute = {};
  bool recomputes_attention = false;          ///< selectively, in place of `recompute`
  std::optional<std::int64_t> blocks = {};    ///< of the network
  std::optional<std::int64_t> sequence = {};  ///< tokens in a sample
};

/// Takes all flags that say something about a plan.
/// **Throws** InputError, at its place, for flags that contradict each other, that Megatron-LM refuses together, or
/// that no plan can say.
[[nodiscard]] MegatronRun read_megatron_run(MegatronFlags& flags);

/// The flags of a run, one on each line with ` \` behind all but the last. `read_megatron_run` reads an equal run.
/// **Requires** one kind of recomputation at most, a layout, the global batch, a recipe and a precision that
/// Megatron-LM has (`has_flags`).
[[nodiscard]] std::string write_megatron_flags(const MegatronRun& run);

/// Whether Megatron-LM has flags for an optimizer with these bytes in this precision.
[[nodiscard]] bool has_flags(OptimizerRecipe recipe, const std::string& precision);

}  // namespace stagecraft
