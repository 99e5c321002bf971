#pragma once

#include "sim/model/detail.hpp"

#include <string>
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
  std::string summary_word;  ///< head of the column of summaries; empty: the facts say the same
};

/// The names of all lists, in the order in which the help names them.
[[nodiscard]] const std::vector<std::string>& catalogue_kinds();

/// The list of `kind`. Reads the shipped files to describe them.
/// **Throws** InputError for an unknown kind, naming the known ones, and for an error in a shipped file.
[[nodiscard]] Catalogue load_catalogue(const std::string& kind);

/// `{"<kind>": [{"name": …, "summary": …, "source": …, facts, "options": […]}, …]}`
[[nodiscard]] Detail::Record catalogue_record(const Catalogue& catalogue);

/// A table with a row for each entry: name, facts without paths, and summary. It has at most 100 columns, or as many
/// as a narrower screen.
[[nodiscard]] std::string catalogue_text(const Catalogue& catalogue);

/// Name and summary, and all facts, the source and the options indented below them.
[[nodiscard]] std::string entry_text(const CatalogueEntry& entry);

}  // namespace stagecraft
