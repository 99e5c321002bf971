#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// A data file that comes with the program.
struct ShippedFile {
  std::string name;  ///< without folder and ending
  std::string path;
};

/// The YAML files of a data folder, `traces`, `platforms` or `experiments/studies`, by name. Data lies in the folder
/// that the environment variable STAGECRAFT_DATA names, else in the source tree the program was built from.
[[nodiscard]] std::vector<ShippedFile> shipped_files(const std::string& folder);

/// What to try in place of an unknown `name`: one of the shipped names, or, where there is none, another data folder.
[[nodiscard]] std::string suggest_shipped(const std::string& name, const std::vector<std::string>& known);

/// A model and a platform, as the user names them and as they are.
struct Inputs {
  Model model;
  Platform platform;
  std::string model_hash;  ///< SHA-256 of the files
  std::string platform_hash;
};

/// Each name is a path, else the name of a shipped file. `speeds`: relative speeds of device kinds that the user gives;
/// they come before the platform's.
/// **Throws** InputError for a name that is neither, telling the shipped ones and the nearest, for what is wrong in a
/// file, and for a speed of a kind that neither the platform nor the model knows.
[[nodiscard]] Inputs load_inputs(const std::string& model, const std::string& platform,
                                 const std::map<std::string, double>& speeds);

enum class InputKind { Model, Platform, Study };

/// Where the file lies that `name` means: a path, relative to `base`, else the name of a shipped file. What looks like
/// no path is a shipped study before it is a path: beside `./quickstart` there is a study of that name.
/// **Throws** InputError for a name that is neither, telling the shipped ones and the nearest.
[[nodiscard]] std::string find_input(const std::string& name, InputKind kind, const std::string& base = {});

/// The same for one of them.
[[nodiscard]] Model load_model(const std::string& name);
[[nodiscard]] PlatformSpec load_platform_spec(const std::string& name);

/// The profile at `microbatch_size`, or at the model's smallest measured size; `say` is told when the size lies outside
/// several measured ones.
/// **Throws** InputError if its sizes would exceed what a model file may hold.
[[nodiscard]] LayerGraph profile_at(const Model& model, std::optional<std::int64_t> microbatch_size,
                                    const std::function<void(const std::string&)>& say);

}  // namespace stagecraft
