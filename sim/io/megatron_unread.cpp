#include "sim/io/megatron_unread.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace stagecraft {
namespace {

/// Names, and beginnings of names before a `-`.
using Stems = std::span<const std::string_view>;

/// The course of the optimizer, data, logs and files.
constexpr auto kWithoutEffect = std::to_array<std::string_view>({
    "adam",
    "ckpt",
    "clip-grad",
    "data-cache-path",
    "data-path",
    "dataloader-type",
    "dist-ckpt",
    "distributed",
    "end-weight-decay",
    "eval",
    "exit",
    "finetune",
    "hysteresis",
    "init-method",
    "initial-loss-scale",
    "load",
    "log",
    "loss-scale",
    "lr",
    "merge-file",
    "min-loss-scale",
    "min-lr",
    "mock-data",
    "moe-aux-loss-coeff",
    "moe-z-loss-coeff",
    "no-check-for-nan-in-loss-and-grad",
    "no-load",
    "no-save",
    "num-workers",
    "override-opt",
    "rotary-base",
    "save",
    "seed",
    "sgd-momentum",
    "split",
    "start-weight-decay",
    "tensorboard",
    "test-data-path",
    "timing-log",
    "tokenizer",
    "train",
    "use-checkpoint-opt",
    "use-mcore-models",
    "valid-data-path",
    "vocab-file",
    "wandb",
    "weight-decay",
});

/// Kernels, copies and the order of what is sent.
constexpr auto kNotModelled = std::to_array<std::string_view>({
    "align-param-gather",
    "batch-p2p-communication",
    "cpu-offloading",
    "cross-entropy-loss-fusion",
    "cuda-graph",
    "deallocate-pipeline-outputs",
    "defer-embedding-wgrad-compute",
    "delay-wgrad-compute",
    "disable-tp-comm",
    "distribute-saved-activations",
    "empty-unused-memory-level",
    "enable-cuda-graph",
    "external-cuda-graph",
    "fine-grained-activation-offloading",
    "fp8",
    "moe-grouped-gemm",
    "moe-permute-fusion",
    "moe-router-load-balancing-type",
    "moe-shared-expert-overlap",
    "moe-token-dispatcher-type",
    "no-align-grad-reduce",
    "no-async-tensor-model-parallel-allreduce",
    "no-bias-dropout-fusion",
    "no-bias-gelu-fusion",
    "no-bias-swiglu-fusion",
    "no-gradient-accumulation-fusion",
    "no-masked-softmax-fusion",
    "no-overlap-p2p-communication",
    "no-rope-fusion",
    "overlap-p2p-communication",
    "overlap-param-gather-with-optimizer-step",
    "pipeline-model-parallel-comm-backend",
    "tp-comm",
    "transformer-impl",
    "use-nccl-ub",
    "use-sharp",
});

constexpr auto kOfNetwork = std::to_array<std::string_view>({
    "add-qkv-bias",
    "apply-layernorm-1p",
    "attention-backend",
    "attention-dropout",
    "disable-bias-linear",
    "hidden-dropout",
    "moe-layer-freq",
    "moe-router-enable-expert-bias",
    "no-position-embedding",
    "normalization",
    "openai-gelu",
    "position-embedding-type",
    "qk-layernorm",
    "rotary-percent",
    "squared-relu",
    "swiglu",
    "untie-embeddings-and-output-weights",
    "use-flash-attn",
    "use-rotary-position-embeddings",
    "window-size",
});

bool is_among(std::string_view name, Stems stems) {
  return std::ranges::any_of(stems, [&](std::string_view stem) {
    return name.starts_with(stem) && (name.size() == stem.size() || name[stem.size()] == '-');
  });
}

void note_flags(const std::string& what, const std::vector<std::string>& flags, std::vector<std::string>& notes) {
  if (flags.empty()) return;
  std::string names;
  for (const std::string& flag : flags) names += (names.empty() ? "" : ", ") + flag;
  notes.push_back(what + ": " + names);
}

}  // namespace

UnreadFlags unread_flags(const MegatronFlags& flags) {
  UnreadFlags unread;
  for (const std::string& flag : flags.left()) {
    const std::string name = flag.substr(2);
    if (is_among(name, kWithoutEffect)) {
      unread.without_effect.push_back(flag);
    } else if (is_among(name, kNotModelled)) {
      unread.not_modelled.push_back(flag);
    } else if (is_among(name, kOfNetwork)) {
      unread.of_network.push_back(flag);
    } else {
      flags.refuse_mistake(name);
      unread.unknown.push_back(flag);
    }
  }
  return unread;
}

std::vector<std::string> megatron_notes(const MegatronRun& run, const MegatronFlags& flags, const UnreadFlags& unread,
                                        const std::vector<std::string>& not_compared) {
  std::vector<std::string> of_network = not_compared;
  of_network.insert(of_network.end(), unread.of_network.begin(), unread.of_network.end());
  std::vector<std::string> notes;
  if (run.has_buckets && run.zero == 1 && !flags.has("overlap-param-gather")) {
    notes.emplace_back(
        "with a divided optimizer a plan exchanges gradients and weights in buckets, or neither: it is taken as with "
        "--overlap-param-gather beside --overlap-grad-reduce, so the gather of weights is hidden, which the run waits "
        "for");
  }
  note_flags("not used, for they change neither time nor memory", unread.without_effect, notes);
  note_flags("not compared with the network of the model", of_network, notes);
  note_flags("not modelled, though they change time or memory", unread.not_modelled, notes);
  note_flags("not read, for this program does not know them", unread.unknown, notes);
  return notes;
}

}  // namespace stagecraft
