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
  std::string source;    ///< authors and year, or where the numbers come from; may be empty
  Detail::Record facts;  ///< texts and numbers, in the order shown
  Detail::List options;  ///< records of name, type, default, least, most, description
};

/// One list of the program.
struct Catalogue {
  std::string kind;  ///< its name on the command line
  std::vector<CatalogueEntry> entries;
};

/// The lists there are, in the order in which the help names them.
[[nodiscard]] const std::vector<std::string>& catalogue_kinds();

/// The list of `kind`. Shipped files are read for what they say of themselves.
/// **Throws** InputError for an unknown kind, telling the known ones, and for what is wrong in a shipped file.
[[nodiscard]] Catalogue load_catalogue(const std::string& kind);

/// `{"<kind>": [{"name": …, "summary": …, "source": …, facts, "options": […]}, …]}`
[[nodiscard]] Detail::Record catalogue_record(const Catalogue& catalogue);

/// The same for people: name and summary, and indented below them all else.
[[nodiscard]] std::string catalogue_text(const Catalogue& catalogue);

}  // namespace stagecraft
