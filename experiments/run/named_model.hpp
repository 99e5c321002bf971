#pragma once

#include "experiments/run/inputs.hpp"
#include "sim/workload/architecture.hpp"
#include "sim/workload/device.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// What a name of a model means: a model file, an architecture file, a `config.json` of Hugging Face, or a network that
/// the program knows.
struct ModelSource {
  FileText file;                ///< of a network known by name without text; its name is then the path
  bool is_network = false;      ///< known by name
  bool needs_platform = false;  ///< a network, by name or as a file: its figures are computed for a kind of device
  std::string location = {};    ///< where the file lies, if messages name it by another path
};

/// The source of a name: a path relative to `base`, or else the name of a shipped file, or else that of a network. A
/// choice with an architecture is that network.
/// **Throws** InputError for a name that is none of them, with the nearest names, and for a file that cannot be read.
[[nodiscard]] ModelSource find_model(const std::string& name, const ModelChoice& choice, const std::string& base = {});

/// Whether the file describes a network: an architecture file or a `config.json`. **Throws** InputError for a text that
/// may be one of them, and is no YAML.
[[nodiscard]] bool is_description(const FileText& file);

/// The hash of a file without figures with the values that `choice` puts into it; empty if it is no such file.
[[nodiscard]] std::string chosen_hash(const FileText& file, const ComputedChoice& choice);

/// Whether the program knows a network of that name.
[[nodiscard]] bool is_network(const std::string& name);

/// A network of that name, with the sequence of the choice.
/// **Requires** that `is_network` knows it. **Throws** InputError for a sequence that it cannot bear.
[[nodiscard]] Architecture known_network(const std::string& name, const ModelChoice& choice);

/// A model that was found by its name.
struct NamedModel {
  Model model;
  std::string hash;                       ///< as in `Inputs`; of a network that of the model file in its place
  std::vector<std::string> remarks = {};  ///< how a network is computed, unless a plan says it
  ComputedChoice computed = {};           ///< as in `Inputs`
};

/// bf16 or else fp16: the mode of 16 bit that a known device has, and if possible all `kinds` beside it. None: that of
/// its description.
[[nodiscard]] std::optional<std::string> usual_precision(const DeviceDescription& device,
                                                         const std::vector<DeviceDescription>& kinds);

/// Values that replace those of the file, and how an error begins their paths.
struct ReplacedValues {
  FileValues values;
  std::string option;
};

/// What selective recomputation does to a network for which it was chosen (`with_selective_recompute`).
[[nodiscard]] std::string recompute_remark(const Architecture& network);

/// What `load_model` remarks on the text of a `config.json`: keys that are not read, the length of a sample. Of any
/// other source none. **Throws** as `load_model`. **Cost** no profile is computed.
[[nodiscard]] std::vector<std::string> remarks_on_config(const ModelSource& source, const ModelChoice& choice,
                                                         const ReplacedValues& replaced);

/// The network of an architecture file in which `sequence` replaces that of the file, beside the values `replaced`.
/// **Throws** InputError for an error in the file, and at `place` for a length that the network cannot have.
[[nodiscard]] Architecture read_architecture_at(const FileText& file, std::int64_t sequence,
                                                const ReplacedValues& replaced, const InputPlace& place);

/// The model of a source. A network is computed for the first kind of the platform's devices that has a device file or
/// that the catalogue knows, as a model file with the key `computed` would be: at the granularity `layer`, in bf16 or
/// else fp16 if the kinds have it, and otherwise in the precision of the device's description, unless `choice` says
/// another. A sequence of `choice` replaces that of an architecture file.
/// **Requires** the platform where the source needs one.
/// **Throws** InputError for an error in the file, for values that its format refuses, for a choice where figures are
/// fixed, that the network cannot bear or that the device lacks, and for a platform of unknown kinds of device.
[[nodiscard]] NamedModel load_model(const ModelSource& source, const ModelChoice& choice,
                                    const ReplacedValues& replaced, const DescribedPlatform* platform);

}  // namespace stagecraft
