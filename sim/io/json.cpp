#include "sim/io/json.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepestValue = 100;
constexpr std::uint64_t kLargestWhole = std::numeric_limits<std::int64_t>::max();

/// Writes a value as the library writes its own, but without making one of these first.
class JsonWriter {
 public:
  explicit JsonWriter(int indent) : indent_(indent) {}

  void write(const Detail& detail) {
    std::visit([&](const auto& value) { write(value); }, detail.value);
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void write(const Detail::List& list) {
    write_all('[', list, ']', [&](const Detail& item) { write(item); });
  }
  void write(const Detail::Record& record) {
    write_all('{', record, '}', [&](const auto& entry) {
      write(entry.first);
      text_ += indent_ < 0 ? ":" : ": ";
      write(entry.second);
    });
  }
  void write(const std::string& text) { text_ += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }
  void write(std::int64_t whole) { text_ += std::to_string(whole); }
  template <class Scalar>
  void write(const Scalar& value) {
    text_ += Json(value).dump();
  }

  template <class Items, class WriteItem>
  void write_all(char open, const Items& items, char close, const WriteItem& write_item) {
    text_ += open;
    depth_ += indent_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text_ += ',';
      begin_line();
      write_item(items[i]);
    }
    depth_ -= indent_;
    if (!items.empty()) begin_line();
    text_ += close;
  }
  void begin_line() {
    if (indent_ < 0) return;
    text_ += '\n';
    text_.append(static_cast<std::size_t>(depth_), ' ');
  }

  int indent_;     ///< of each level; less than 0: all is on one line
  int depth_ = 0;  ///< spaces before a line
  std::string text_;
};

Detail to_detail(const Json& json) {
  if (json.is_object()) {
    Detail::Record record;
    for (const auto& [name, value] : json.items()) record.emplace_back(name, to_detail(value));
    return record;
  }
  if (json.is_array()) {
    Detail::List list;
    for (const Json& item : json) list.push_back(to_detail(item));
    return list;
  }
  if (json.is_string()) return json.get<std::string>();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > kLargestWhole) return json.get<double>();
  if (json.is_number()) return json.get<std::int64_t>();
  return {};
}

Detail seconds_or_null(const std::optional<Seconds>& value) { return value ? Detail(value->value()) : Detail(); }

}  // namespace

std::string to_json(const Detail& value, int indent) {
  JsonWriter writer(indent);
  writer.write(value);
  return writer.take();
}

std::optional<Detail> from_json(std::string_view text) {
  bool is_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t, const Json&) {
    return !(is_deep = is_deep || depth > kDeepestValue);
  };
  const Json json = Json::parse(text, watch, false);
  if (json.is_discarded() || is_deep) return std::nullopt;
  return to_detail(json);
}

Detail::Record figures_record(const Figures& figures, const Platform& platform) {
  Detail::Record memory;
  for (const auto& [device, peak] : figures.peak_memory) {
    memory.emplace_back(platform.devices[device].name, peak.value());
  }
  return {{"iteration_time_s", seconds_or_null(figures.iteration_time)},
          {"period_s", seconds_or_null(figures.period)},
          {"peak_memory_bytes", std::move(memory)}};
}

}  // namespace stagecraft
