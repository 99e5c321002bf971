#pragma once

#include "experiments/run/planning.hpp"
#include "planners/planner.hpp"
#include "sim/model/platform.hpp"

#include <memory>
#include <string>
#include <vector>

namespace stagecraft {

/// The folder in which a comparison keeps its plans: `PLANNER.yaml`, or `MODEL/PLANNER.yaml` if it has several models.
class PlanFolder {
 public:
  /// Makes the folder and those of the models.
  /// **Throws** InputError if that is not possible, if two plans would have one name, or if a file of such a name is no
  /// plan; then before anything is written.
  PlanFolder(std::string path, const std::vector<std::string>& models,
             const std::vector<std::shared_ptr<const PlannerInfo>>& planners);

  /// Writes the plan of a planning that has one, and returns the file's name. **Throws** as `write_file_atomically`.
  [[nodiscard]] std::string keep(const std::string& model, const Planning& planning, const Platform& platform) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool has_models_;

  [[nodiscard]] std::string file_of(const std::string& model, const std::string& planner) const;
};

}  // namespace stagecraft
