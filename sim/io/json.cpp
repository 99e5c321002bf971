#include "sim/io/json.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>

namespace stagecraft {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepestValue = 100;
constexpr std::uint64_t kLargestWhole = std::numeric_limits<std::int64_t>::max();

struct JsonBuilder {
  Json operator()(const Detail::List& list) const {
    Json result = Json::array();
    for (const Detail& item : list) result.push_back(std::visit(*this, item.value));
    return result;
  }
  Json operator()(const Detail::Record& record) const {
    Json result = Json::object();
    auto& entries = result.get_ref<Json::object_t&>();
    for (const auto& [name, value] : record) {
      entries.Json::object_t::Container::emplace_back(name, std::visit(*this, value.value));  // no search for the name
    }
    return result;
  }
  template <class Scalar>
  Json operator()(const Scalar& value) const {
    return value;
  }
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
  const Json json = std::visit(JsonBuilder{}, value.value);
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
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
