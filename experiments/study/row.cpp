#include "experiments/study/row.hpp"

#include "sim/base/error.hpp"
#include "sim/io/json.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::array<std::pair<CellStatus, const char*>, 6> kNames = {{{CellStatus::Ok, "ok"},
                                                                       {CellStatus::Infeasible, "infeasible"},
                                                                       {CellStatus::OutOfMemory, "out_of_memory"},
                                                                       {CellStatus::Timeout, "timeout"},
                                                                       {CellStatus::Crashed, "crashed"},
                                                                       {CellStatus::Invalid, "invalid"}}};

template <class T>
const T* member(const Detail::Record& record, std::string_view name) {
  const auto found = std::ranges::find(record, name, &Detail::Record::value_type::first);
  return found == record.end() ? nullptr : std::get_if<T>(&found->second.value);
}

}  // namespace

const char* to_string(CellStatus status) {
  const auto found = std::ranges::find(kNames, status, &std::pair<CellStatus, const char*>::first);
  STAGECRAFT_CHECK(found != kNames.end(), "every status has a name");
  return found->second;
}

const std::vector<CellStatus>& all_statuses() {
  static const std::vector<CellStatus> statuses = [] {
    std::vector<CellStatus> list;
    for (const auto& [status, name] : kNames) list.push_back(status);
    return list;
  }();
  return statuses;
}

bool is_failure(CellStatus status) { return depends_on_machine(status) || status == CellStatus::Invalid; }

bool depends_on_machine(CellStatus status) { return status == CellStatus::Timeout || status == CellStatus::Crashed; }

std::string to_line(const Row& row) {
  return to_json(Detail::Record{{"key", row.key},
                                {"status", to_string(row.status)},
                                {"message", row.message},
                                {"figures", row.figures},
                                {"timings", row.timings}},
                 -1);
}

std::optional<Row> parse_row(std::string_view line) {
  const std::optional<Detail> document = from_json(line);
  const auto* record = document ? std::get_if<Detail::Record>(&document->value) : nullptr;
  if (record == nullptr) return std::nullopt;
  const auto* key = member<std::string>(*record, "key");
  const auto* status = member<std::string>(*record, "status");
  const auto* message = member<std::string>(*record, "message");
  const auto* figures = member<Detail::Record>(*record, "figures");
  const auto* timings = member<Detail::Record>(*record, "timings");
  if (key == nullptr || status == nullptr || message == nullptr || figures == nullptr || timings == nullptr) return {};
  const auto known =
      std::ranges::find_if(kNames, [&](const auto& entry) { return std::string_view(entry.second) == *status; });
  if (known == kNames.end()) return std::nullopt;
  return Row{*key, known->first, *message, *figures, *timings};
}

}  // namespace stagecraft
