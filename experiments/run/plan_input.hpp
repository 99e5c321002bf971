#pragma once

#include "experiments/run/inputs.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/model/layer_graph.hpp"

#include <functional>
#include <optional>
#include <string>

namespace stagecraft {

/// The names of a model and of a platform, where the user gives them.
struct GivenInputs {
  std::optional<std::string> model;
  std::optional<std::string> platform;
};

/// The paths of a model and of a platform.
struct FoundInputs {
  std::string model;  ///< or the name of a network
  std::string platform;
  ModelChoice choice = {};  ///< what the plan says of the model's figures
};

/// The files that a plan is to be judged with: those that the user gives, each a path or the name of a shipped one, or
/// else those that the plan names. NAME in a plan is a path, a shipped file, NAME.yaml in the folder of the plan, or
/// NAME.yaml in the current folder. If the plan gives a hash, the first of them that has it is taken, or else any file
/// that has it: of the YAML and JSON files beside the plan, of those in the current folder, then of the shipped ones.
/// Without such a file, or without a hash, it is the first of them that has the schema. Hashes are compared with what
/// the plan chooses (`computed`), too. A network known by name, which the plan or the user may name, is no file.
/// **Cost** if no file of the name has the hash, that of reading all these files.
/// **Throws** InputError if there is no such file, or if neither the user nor the plan gives a name; it says which
/// option names the file.
[[nodiscard]] FoundInputs find_plan_inputs(const GivenInputs& given, const FileText& plan);

/// Passes a warning to `say` for a model and a platform other than those that the plan was made for.
void tell_mismatches(const PlanHeader& header, const Inputs& inputs,
                     const std::function<void(const std::string&)>& say);

/// A plan with the profile it was made for.
struct PlanInput {
  LayerGraph graph;  ///< at the plan's microbatch size
  PlanReading reading;
};

/// The plan of a file, for a model and a platform. Passes a warning to `say` if the plan was made for others.
/// **Throws** InputError if the file is not a plan.
[[nodiscard]] PlanInput parse_plan_input(const FileText& file, const Inputs& inputs,
                                         const std::function<void(const std::string&)>& say);

}  // namespace stagecraft
