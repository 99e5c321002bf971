#include "sim/io/json.hpp"

#include "tests/random_cases.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <variant>

namespace stagecraft {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct Builder {
  OrderedJson operator()(const Detail::List& list) const {
    OrderedJson result = OrderedJson::array();
    for (const Detail& item : list) result.push_back(std::visit(*this, item.value));
    return result;
  }
  OrderedJson operator()(const Detail::Record& record) const {
    OrderedJson result = OrderedJson::object();
    for (const auto& [name, value] : record) result[name] = std::visit(*this, value.value);
    return result;
  }
  template <class Scalar>
  OrderedJson operator()(const Scalar& value) const {
    return value;
  }
};

/// A value with text of all bytes, numbers of all sizes, and lists and records at most `depth` deep.
Detail drawn(std::mt19937_64& random, int depth) {
  const std::size_t count = random() % 4;
  switch (random() % (depth > 0 ? 8 : 6)) {
    case 0: return {};
    case 1: return random() % 2 == 0;
    case 2: return static_cast<std::int64_t>(random() >> (random() % 64)) * (random() % 2 == 0 ? 1 : -1);
    case 3: return std::ldexp(static_cast<double>(random() >> 11U), static_cast<int>(random() % 200) - 150);
    case 4: return random() % 2 == 0 ? std::numeric_limits<double>::infinity() : -0.0;
    case 5: {
      std::string text;
      for (std::size_t i = 0; i < count; ++i) text += static_cast<char>(random() % 256);
      return text + "é\n\"";
    }
    case 6: {
      Detail::List list;
      for (std::size_t i = 0; i < count; ++i) list.push_back(drawn(random, depth - 1));
      return list;
    }
    default: {
      Detail::Record record;
      for (std::size_t i = 0; i < count; ++i) {
        record.emplace_back("key\t" + std::to_string(i), drawn(random, depth - 1));
      }
      return record;
    }
  }
}

}  // namespace

TEST_CASE("json: values are written as the library writes its own") {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < testing::random_cases(2000); ++trial) {
    const Detail value = drawn(random, 4);
    const OrderedJson json = std::visit(Builder{}, value.value);
    for (const int indent : {-1, 0, 2}) {
      CHECK(to_json(value, indent) == json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace));
    }
  }
}

}  // namespace stagecraft
