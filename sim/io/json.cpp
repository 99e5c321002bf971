#include "sim/io/json.hpp"

#include <nlohmann/json.hpp>

namespace stagecraft {
namespace {

using Json = nlohmann::ordered_json;

struct JsonBuilder {
  Json operator()(const Detail::List& list) const {
    Json result = Json::array();
    for (const Detail& item : list) result.push_back(std::visit(*this, item.value));
    return result;
  }
  Json operator()(const Detail::Record& record) const {
    Json result = Json::object();
    for (const auto& [name, value] : record) result[name] = std::visit(*this, value.value);
    return result;
  }
  template <class Scalar>
  Json operator()(const Scalar& value) const {
    return value;
  }
};

Detail seconds_or_null(const std::optional<Seconds>& value) { return value ? Detail(value->value()) : Detail(); }

}  // namespace

std::string to_json(const Detail& value, int indent) {
  const Json json = std::visit(JsonBuilder{}, value.value);
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
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
