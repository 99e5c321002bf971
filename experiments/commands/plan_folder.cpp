#include "experiments/commands/plan_folder.hpp"

#include "experiments/run/written_file.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/plan_file.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace stagecraft {
namespace {

const char* const kOption = "--save";

/// The name with `-` in place of what a file's name should not have, as `exec:./even.py` does.
std::string file_name(std::string name) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  std::ranges::replace_if(name, [&](char each) { return kPlain.find(each) == std::string_view::npos; }, '-');
  return name.starts_with('.') ? "-" + name : name;
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem && !std::filesystem::is_directory(folder))
    throw InputError("cannot be made a folder: " + problem.message(), {folder.string(), 0, 0, kOption});
}

}  // namespace

PlanFolder::PlanFolder(std::string path, const std::vector<std::string>& models, const std::vector<std::string>& rows,
                       const std::vector<std::string>& others)
    : path_(std::move(path)), has_models_(models.size() > 1) {
  if (path_.empty()) throw InputError("expected the name of a folder, found nothing", {"", 0, 0, kOption});
  std::set<std::string> files;
  for (const std::string& model : models) {
    for (const std::string& row : rows) {
      const std::string file = file_of(model, row);
      if (!files.insert(file).second) throw InputError("two plans would be " + quote(file), {"", 0, 0, kOption});
      if (std::filesystem::exists(file)) refuse_overwriting(file, OutputKind::PlanFile, {});
    }
    for (const std::string& other : others) {
      const std::string file = file_of(model, other);
      if (!files.insert(file).second) throw InputError("two files would be " + quote(file), {"", 0, 0, kOption});
    }
  }
  for (const std::string& file : files) make_folder(std::filesystem::path(file).parent_path());
}

std::string PlanFolder::file_of(const std::string& model, const std::string& row) const {
  const std::filesystem::path folder =
      has_models_ ? std::filesystem::path(path_) / file_name(model) : std::filesystem::path(path_);
  return (folder / (file_name(row) + ".yaml")).string();
}

std::string PlanFolder::keep(const std::string& model, const std::string& row, const Planning& planning,
                             const Platform& platform) const {
  return keep(model, row, planning.planned()->plan, planning.graph, platform);
}

std::string PlanFolder::keep(const std::string& model, const std::string& row, const Plan& plan,
                             const LayerGraph& graph, const Platform& platform) const {
  std::string file = file_of(model, row);
  write_file_atomically(file, write_plan_yaml(plan, graph, platform));
  return file;
}

}  // namespace stagecraft
