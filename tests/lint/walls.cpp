#include "tests/lint/walls.hpp"

#include <algorithm>
#include <optional>
#include <regex>
#include <string_view>

namespace stagecraft::lint {
namespace {

struct Room {
  std::string name;
  std::vector<std::string> may_include;  ///< beside itself; "*" is every room
};

/// `rooms`, and all of `sim` and `planners`.
std::vector<std::string> with_simulators(std::vector<std::string> rooms) {
  rooms.insert(rooms.end(), {"planners", "sim/base", "sim/model", "sim/workload", "sim/io", "sim/schedule",
                             "sim/engine", "sim/analytic", "sim/replay"});
  return rooms;
}

/// The table of docs/explanation/architecture.md: change both together, with an ADR.
const std::vector<Room>& rooms() {
  static const std::vector<Room> table = {
      {"sim/base", {}},
      {"sim/model", {"sim/base"}},
      {"sim/workload", {"sim/base", "sim/model"}},
      {"sim/io", {"sim/base", "sim/model", "sim/workload"}},
      {"sim/schedule", {"sim/base", "sim/model"}},
      {"sim/engine", {"sim/base", "sim/model"}},
      {"sim/analytic", {"sim/base", "sim/model", "sim/schedule", "sim/engine"}},
      {"sim/replay", {"sim/base", "sim/model", "sim/schedule", "sim/engine"}},
      {"planners", {"sim/base", "sim/model", "sim/schedule", "sim/analytic"}},
      {"experiments/run", with_simulators({})},
      {"experiments/view", with_simulators({"experiments/run"})},
      {"experiments/measured", with_simulators({"experiments/run", "experiments/view"})},
      {"experiments/study", with_simulators({"experiments/run", "experiments/view"})},
      {"experiments/study_report", with_simulators({"experiments/run", "experiments/view", "experiments/study"})},
      {"experiments/commands", with_simulators({"experiments/run", "experiments/view", "experiments/measured",
                                                "experiments/study", "experiments/study_report"})},
      {"experiments", {"sim/base", "experiments/commands"}},
      {"tests", {"*"}},
  };
  return table;
}

/// The folders of `planners/shared`, which holds nothing else, and what they may include of each other.
const std::vector<Room>& shared_rooms() {
  static const std::vector<Room> table = {
      {"planners/shared/costs", {}},
      {"planners/shared/cuts", {"planners/shared/costs"}},
      {"planners/shared/savings", {"planners/shared/costs", "planners/shared/cuts", "planners/shared/turns"}},
      {"planners/shared/turns", {"planners/shared/costs"}},
  };
  return table;
}

/// The room of the table that the path lies in, or none.
const Room* room_in(const std::vector<Room>& table, const std::string& path) {
  const auto room = std::find_if(table.begin(), table.end(),
                                 [&](const Room& candidate) { return path.starts_with(candidate.name + "/"); });
  return room == table.end() ? nullptr : &*room;
}

struct ThirdParty {
  std::string header;  ///< regular expression of the included name
  std::string where;   ///< regular expression of the files that may include it
  std::string in_words;
};

const std::vector<ThirdParty>& third_parties() {
  static const std::vector<ThirdParty> table = {
      {"yaml-cpp/.*", R"(sim/io/.*\.cpp)", "the .cpp files of sim/io"},
      {"nlohmann/.*", R"(sim/io/.*\.cpp|tests/.*)", "the .cpp files of sim/io, and tests"},
      {"valijson/.*", R"(tests/.*)", "tests"},
      {"openssl/.*", R"(sim/io/.*\.cpp)", "the .cpp files of sim/io"},
      {R"(pugixml\.hpp)", R"(sim/io/.*\.cpp)", "the .cpp files of sim/io"},
      {R"(zlib\.h)", R"((sim/io|tests)/.*\.cpp)", "the .cpp files of sim/io and tests"},
      {"fmt/.*", R"(.*\.cpp)", ".cpp files"},
      {"(simgrid|xbt)/.*", R"(sim/replay/simgrid_[^/]*\.[ch]pp)", "the files sim/replay/simgrid_*"},
      {"boost/.*", R"((sim/model/(graph_order|dragonfly)|(tests/)?planners/.*)\.cpp)",
       "sim/model/graph_order.cpp, sim/model/dragonfly.cpp, and .cpp files of planners and their tests"},
      {"coin/.*", R"(planners/.*\.cpp)", "planners' .cpp files"},
      {R"(sqlite3\.h)", R"((experiments/study|tests)/.*\.cpp)", "the .cpp files of experiments/study and tests"},
      {"CLI/.*", R"(experiments/commands/.*\.cpp)", "the .cpp files of experiments/commands"},
      {"(unsupported/)?Eigen/.*", R"(experiments/measured/.*\.cpp)", "the .cpp files of experiments/measured"},
      {"doctest/.*", R"(tests/.*)", "tests"},
      {"benchmark/.*", R"(tests/.*\.cpp)", "the .cpp files of tests"},
      {R"(sys/.*|fcntl\.h|unistd\.h|poll\.h|pty\.h|signal\.h)", R"((sim/base|experiments|tests)/.*\.cpp)",
       "the .cpp files of sim/base, experiments and tests (processes are started in sim/base)"},
      {"[a-z_0-9]+", ".*", "anywhere: the standard library"},
  };
  return table;
}

/// A header that may show SimGrid's names stays in the room.
const std::regex& simgrid_header() {
  static const std::regex pattern(R"(sim/replay/simgrid_[^/]*\.hpp)");
  return pattern;
}

std::optional<std::string> refuse_room(const Room& from, const Room& to) {
  if (from.name == to.name) return std::nullopt;
  for (const std::string& allowed : from.may_include) {
    if (allowed == "*" || allowed == to.name) return std::nullopt;
  }
  return from.name + " may not include " + to.name;
}

/// The part of `planners` that a file belongs to: a planner (its file or its folder), `shared`, `planner` or the
/// registry.
std::string part_of_planners(const std::string& path) {
  const std::string inside = path.substr(std::string_view("planners/").size());
  return inside.substr(0, inside.find_first_of("./"));
}

/// A planner includes nothing of another one; what a request has is for all, and what they share has walls of its own.
std::optional<std::string> refuse_planner(const std::string& path, const std::string& name) {
  const Room* shared = room_in(shared_rooms(), path);
  if (const Room* used = room_in(shared_rooms(), name); shared != nullptr && used != nullptr) {
    return refuse_room(*shared, *used);
  }
  const std::string from = part_of_planners(path);
  const std::string to = part_of_planners(name);
  const bool is_shared = to == "planner" || (to == "shared" && from != "planner");
  const bool asks_all = from == "director" && to == "registry";  // it judges the plans of all others
  if (from == to || is_shared || from == "registry" || asks_all) return std::nullopt;
  return "planners/" + from + " may not include planners/" + to + "; what several planners use lies in planners/shared";
}

std::optional<std::string> refuse_ours(const SourceFile& file, const std::string& name,
                                       const std::set<std::string>& known) {
  const bool generated = known.contains(name + ".in");
  if (!generated && !known.contains(name)) return "no such file; includes are full paths from the root";
  if (!name.ends_with(".hpp")) return "only headers are included";
  if (std::regex_match(name, simgrid_header()) && !file.path.starts_with("sim/replay/")) {
    return "this header may show SimGrid's names, which never leave sim/replay";
  }
  if (file.path.starts_with("planners/") && name.starts_with("planners/")) {
    return refuse_planner(file.path, name);
  }
  return refuse_room(*room_in(rooms(), file.path), *room_in(rooms(), name));
}

std::optional<std::string> refuse_foreign(const SourceFile& file, const std::string& name) {
  for (const ThirdParty& entry : third_parties()) {
    if (!std::regex_match(name, std::regex(entry.header))) continue;
    if (std::regex_match(file.path, std::regex(entry.where))) return std::nullopt;
    return "allowed only in " + entry.in_words;
  }
  return "not in the table of third-party headers (tests/lint/walls.cpp)";
}

}  // namespace

std::vector<Include> includes_of(const SourceFile& file) {
  static const std::regex pattern(R"rx(\s*#\s*include\s*(["<])([^">]*)[">].*)rx");
  std::vector<Include> result;
  std::smatch match;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    if (std::regex_match(file.lines[i], match, pattern)) {
      result.push_back({static_cast<int>(i) + 1, match[2].str(), match[1].str() == "\""});
    }
  }
  return result;
}

std::vector<Violation> check_walls(const SourceFile& file, const std::set<std::string>& known) {
  std::vector<Violation> violations;
  if (!is_code(file)) return violations;
  const std::vector<Room>& table = file.path.starts_with("planners/shared/") ? shared_rooms() : rooms();
  if (room_in(table, file.path) == nullptr) return {{file.path, 0, "lies in no room of the table"}};
  for (const Include& include : includes_of(file)) {
    const bool ours = include.quoted || room_in(rooms(), include.name) != nullptr;
    if (const auto refusal = ours ? refuse_ours(file, include.name, known) : refuse_foreign(file, include.name)) {
      violations.push_back({file.path, include.line, "#include of " + include.name + ": " + *refusal});
    }
  }
  return violations;
}

}  // namespace stagecraft::lint
