#pragma once

#include "sim/model/detail.hpp"

#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// Something that has a name and can be chosen: a planner, a schedule, a shipped file, a device kind, a network.
struct CatalogueEntry {
  std::string name;
  std::string summary;
  std::string source;    ///< authors and year, or the origin of the numbers; may be empty
  Detail::Record facts;  ///< texts and numbers, in the order shown
  Detail::List options;  ///< records of name, type, default, least, most, description
};

/// One list that `stagecraft list` can print.
struct Catalogue {
  std::string kind;  ///< name of the list on the command line, such as `planners`
  std::vector<CatalogueEntry> entries;
};

/// The names of all lists, in the order in which the help names them.
[[nodiscard]] const std::vector<std::string>& catalogue_kinds();

/// The list of `kind`. Reads the shipped files to describe them.
/// **Throws** InputError for an unknown kind, naming the known ones, and for an error in a shipped file.
[[nodiscard]] Catalogue load_catalogue(const std::string& kind);

/// `{"<kind>": [{"name": …, "summary": …, "source": …, facts, "options": […]}, …]}`
[[nodiscard]] Detail::Record catalogue_record(const Catalogue& catalogue);

/// The same as text: name and summary of each entry, and everything else indented below them.
[[nodiscard]] std::string catalogue_text(const Catalogue& catalogue);

}  // namespace stagecraft
