#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {

/// A small self-describing value, for the `details` of planners and the parameters of schedules.
struct Detail {
  using List = std::vector<Detail>;
  using Record = std::vector<std::pair<std::string, Detail>>;  ///< in the order written
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, List, Record> value = nullptr;

  Detail() = default;
  Detail(bool v) : value(v) {}                      // NOLINT(google-explicit-constructor): literals read best bare
  Detail(int v) : value(std::int64_t{v}) {}         // NOLINT(google-explicit-constructor)
  Detail(std::int64_t v) : value(v) {}              // NOLINT(google-explicit-constructor)
  Detail(double v) : value(v) {}                    // NOLINT(google-explicit-constructor)
  Detail(const char* v) : value(std::string(v)) {}  // NOLINT(google-explicit-constructor)
  Detail(std::string v) : value(std::move(v)) {}    // NOLINT(google-explicit-constructor)
  Detail(List v) : value(std::move(v)) {}           // NOLINT(google-explicit-constructor)
  Detail(Record v) : value(std::move(v)) {}         // NOLINT(google-explicit-constructor)
  friend bool operator==(const Detail&, const Detail&) = default;
};

}  // namespace stagecraft
