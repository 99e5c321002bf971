#pragma once

#include "experiments/run/described_platform.hpp"
#include "experiments/run/overrides.hpp"
#include "sim/model/computed_choice.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/training.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// A data file that comes with the program.
struct ShippedFile {
  std::string name;  ///< without folder and extension
  std::string path;
};

/// The YAML files of a data folder (`traces`, `platforms` or `experiments/studies`), sorted by name. The data folder is
/// in the folder that the environment variable STAGECRAFT_DATA names, or else in the source tree of the program.
[[nodiscard]] std::vector<ShippedFile> shipped_files(const std::string& folder);

/// A hint for an unknown name that is, or nearly is, the name of a network that `stagecraft model` knows; else empty.
[[nodiscard]] std::string suggest_network(const std::string& name);

/// A hint for an unknown `name`: the shipped names, or to set STAGECRAFT_DATA if there are no shipped files.
[[nodiscard]] std::string suggest_shipped(const std::string& name, const std::vector<std::string>& known);

/// What the user, or a plan, chooses of a model whose figures are computed.
struct ModelChoice {
  ComputedChoice computed = {};  ///< with an architecture only in a plan; that network is then the model
  std::string prefix = "--";     ///< of the names of options or keys, for errors
  bool is_of_plan = false;       ///< a model with fixed figures in its place leaves the choice aside
  std::string file = {};         ///< the plan that chooses, for errors
};

/// A model and a platform, with the hashes of their files.
struct Inputs {
  Model model;
  Platform platform;
  std::string model_hash;  ///< SHA-256 of the files, or of their content with values replaced
  std::string platform_hash;
  std::vector<std::string> remarks = {};  ///< on the files (`file_remarks`), and how a network is computed
  ComputedChoice computed = {};           ///< what a plan has to say of the model so that it is found again
};

/// Whether the figures are those of selective recomputation; none where nobody says it, because they were measured.
[[nodiscard]] std::optional<bool> has_selective_recompute(const Inputs& inputs);

/// Each name is a path, or else the name of a shipped file; a model's may also be that of a network (`load_model`), for
/// which `choice` is. `speeds` are relative speeds of device kinds that the user
/// gives; they replace the platform's. `overrides` replace values of the files.
/// **Throws** InputError for a name that is neither (with the nearest shipped name), for an error in a file, for a
/// value of `--set` that the file's format refuses, and for a speed of a kind that neither the platform nor the model
/// has.
[[nodiscard]] Inputs load_inputs(const std::string& model, const std::string& platform,
                                 const std::map<std::string, double>& speeds, const Overrides& overrides = {},
                                 const ModelChoice& choice = {});

/// Chooses the model's profile for a platform: that of the first device whose kind the model knows, so that the answer
/// does not depend on which kind the file names first. Planners then see the platform's other kinds that the model
/// knows by the ratio of the whole model's times. Speeds that the user gives are kept, and their kinds not chosen.
void fit_to_platform(Model& model, Platform& platform);

enum class InputKind { Model, Platform, Study };

/// The path of the file that `name` means: a path relative to `base`, or else the name of a shipped file. For studies a
/// shipped name comes first, because the source tree has both a program `./quickstart` and a study of that name.
/// **Throws** InputError for a name that is neither, with the nearest shipped name.
[[nodiscard]] std::string find_input(const std::string& name, InputKind kind, const std::string& base = {});

/// The same path; none for a name that is neither.
[[nodiscard]] std::optional<std::string> existing_input(const std::string& name, InputKind kind,
                                                        const std::string& base = {});

/// Loads a model or a platform alone.
[[nodiscard]] Model load_model(const std::string& name);
[[nodiscard]] PlatformSpec load_platform_spec(const std::string& name);
[[nodiscard]] DescribedPlatform load_described_platform(const std::string& name);

/// The sizes of the first kind's profiles, for a message: `only 8`, or `8 to 16`.
[[nodiscard]] std::string profiled_sizes_text(const Model& model);

/// The profile at `microbatch_size`, or at the model's smallest measured size if there is none, with the stashes of
/// that convention; with `degrees` that of a group's member (`sharded`). Passes a warning to `say` if the size lies
/// outside the range of the measured ones.
/// **Throws** InputError if its sizes would exceed the limit for model files, for degrees that no group has
/// (`degrees_problem`), and as `sharded`.
[[nodiscard]] LayerGraph profile_at(const Model& model, std::optional<std::int64_t> microbatch_size,
                                    StashConvention stash, const std::function<void(const std::string&)>& say,
                                    const Degrees& degrees = {});

}  // namespace stagecraft
