#include "sim/io/kineto_trace.hpp"

#include "sim/base/error.hpp"
#include "sim/io/character_source.hpp"
#include "sim/io/gzip_file.hpp"
#include "sim/io/kineto_event.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostInputElements = std::int64_t{1} << 46;
constexpr std::int64_t kMostRank = std::int64_t{1} << 20;
constexpr Nanoseconds kLatestBase = 3'000'000'000'000'000'000;

/// Lets the JSON parser take the characters of a source.
class SourceIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  SourceIterator() = default;
  explicit SourceIterator(CharacterSource& source) : source_(&source) {}
  char operator*() const { return source_->current(); }
  SourceIterator& operator++() {
    source_->advance();
    return *this;
  }
  void operator++(int) { ++*this; }
  /// One of the two is the end.
  friend bool operator==(const SourceIterator& a, const SourceIterator& b) { return a.is_end() == b.is_end(); }

 private:
  [[nodiscard]] bool is_end() const { return source_ == nullptr || source_->at_end(); }
  CharacterSource* source_ = nullptr;
};

/// A number as a message shows it.
std::string shortened(const std::string& text) {
  constexpr std::size_t kMostShown = 40;
  return text.size() > kMostShown ? text.substr(0, kMostShown) + "..." : text;
}

std::string event_key(std::size_t event) { return "traceEvents[" + std::to_string(event) + "]"; }

enum class Section : std::uint8_t { Other, Events, Distributed, Devices };

/// Takes a trace from the parser, value by value: only the event that is being read is held.
class KinetoParser : public nlohmann::json_sax<nlohmann::json> {
 public:
  KinetoParser(CharacterSource& source, KinetoCollector& collector) : source_(source), collector_(collector) {}

  bool null() override { return take_other("null"); }
  bool boolean(bool value) override { return take_other(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return take_number(value, std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override;
  bool number_float(number_float_t /*value*/, const string_t& text) override { return take_number({}, text); }
  bool string(string_t& value) override;
  bool binary(binary_t& /*value*/) override { return take_other("bytes"); }
  bool start_object(std::size_t /*elements*/) override;
  bool key(string_t& key) override;
  bool end_object() override;
  bool start_array(std::size_t /*elements*/) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception& problem) override;

  [[nodiscard]] bool has_events() const { return has_events_; }

 private:
  bool take_number(std::optional<std::int64_t> whole, const std::string& text);
  bool take_other(std::string_view found);
  void take_field(std::optional<std::int64_t> whole, const std::string& text);
  void take_part(std::optional<std::int64_t> whole);
  void take_header(std::optional<std::int64_t> whole, const std::string& text);
  void open(bool is_array);
  void finish_event();
  [[noreturn]] void refuse(const std::string& message, const std::string& key) const;

  /// Objects and arrays that are open inside the event: 0 between its own keys and values.
  [[nodiscard]] int inside() const { return section_ == Section::Events ? depth_ - event_depth_ : -1; }
  /// Whether the value that comes next is that of a field.
  [[nodiscard]] bool at_field() const { return inside() == 0 || (inside() == 1 && in_arguments_); }

  CharacterSource& source_;
  KinetoCollector& collector_;
  KinetoEvent event_;
  KinetoField field_ = KinetoField::None;  ///< of the last key, and of the structure that it opened
  Section section_ = Section::Other;
  std::string header_key_;
  int depth_ = 0;        ///< open objects and arrays
  int event_depth_ = 3;  ///< the same in an event: 2 where the whole file is an array of events
  bool in_arguments_ = false;
  bool has_events_ = false;
  std::int64_t elements_ = 1;           ///< of the tensor that is being read
  std::optional<std::int64_t> listed_;  ///< of the tensors before it, if the input is a list of tensors
  std::int64_t first_ = -1;             ///< first dimension of the input; -1: none so far
  std::size_t events_ = 0;
};

bool KinetoParser::number_unsigned(number_unsigned_t value) {
  const bool fits = value <= number_unsigned_t{std::numeric_limits<std::int64_t>::max()};
  return take_number(fits ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt, std::to_string(value));
}

/// `whole` is none for a number with a fraction, and for one beyond 64 bits.
bool KinetoParser::take_number(std::optional<std::int64_t> whole, const std::string& text) {
  if (at_field()) {
    take_field(whole, text);
  } else if (inside() > 0) {
    take_part(whole);
  } else if (section_ == Section::Events) {
    take_other("a number");
  } else {
    take_header(whole, text);
  }
  return true;
}

void KinetoParser::take_field(std::optional<std::int64_t> whole, const std::string& text) {
  if (field_ == KinetoField::None || field_ >= KinetoField::Arguments) return;
  // The greatest number of 64 bits stands for "none".
  if (field_ == KinetoField::Sequence && !whole) return;
  if (field_ >= KinetoField::Phase) {
    event_.set_wrong(field_, "expected a text, found a number");
  } else if (field_ == KinetoField::Time || field_ == KinetoField::Duration) {
    const auto time = nanoseconds_of(text);
    if (time) event_.set(field_, *time);
    if (!time) event_.set_wrong(field_, "expected at most 3e15 microseconds, found " + shortened(text));
  } else if (whole) {
    event_.set(field_, *whole);
  } else {
    event_.set_wrong(field_, "expected a whole number, found " + shortened(text));
  }
}

/// A number in a list of an event: a dimension of a tensor, or a rank.
void KinetoParser::take_part(std::optional<std::int64_t> whole) {
  if (field_ == KinetoField::GroupRanks && inside() == 2 && whole) event_.add_rank(*whole);
  if (field_ != KinetoField::InputDims || inside() < 3) return;
  if (!whole || *whole < 0 || (*whole > 0 && elements_ > kMostInputElements / *whole)) {
    refuse("expected the dimensions of a tensor of at most 2^46 elements, found others",
           event_key(events_) + ".args.Input Dims");
  }
  elements_ *= *whole;
  if (inside() == 3 && first_ < 0) first_ = *whole;
}

void KinetoParser::take_header(std::optional<std::int64_t> whole, const std::string& text) {
  KinetoTrace& trace = collector_.trace();
  const auto count = [&](std::int64_t most) {
    if (!whole || *whole < 0 || *whole > most) {
      refuse("expected a whole number from 0 to " + std::to_string(most) + ", found " + shortened(text), header_key_);
    }
    return *whole;
  };
  if (header_key_ == "distributedInfo.rank") trace.rank = count(kMostRank);
  if (header_key_ == "distributedInfo.world_size") trace.world_size = count(kMostRank);
  if (header_key_ == "baseTimeNanoseconds") trace.base_time = count(kLatestBase);
  if (header_key_ == "traceEvents") refuse("expected a list of events, found a number", header_key_);
}

bool KinetoParser::string(string_t& value) {
  if (section_ == Section::Devices && depth_ == 3 && header_key_ == "deviceProperties.name") {
    collector_.add_device(value);
    return true;
  }
  if (!at_field()) {
    if (field_ == KinetoField::InputTypes && inside() == 2) {
      event_.add_type(value);
      return true;
    }
    return take_other("a text");
  }
  if (field_ >= KinetoField::Phase && field_ < KinetoField::Arguments) {
    event_.set(field_, value);
    return true;
  }
  return take_other("a text");
}

/// A value that is no number, or a text where none belongs.
bool KinetoParser::take_other(std::string_view found) {
  const std::string words = " found " + std::string(found);
  if (at_field() && field_ > KinetoField::None && field_ < KinetoField::Arguments) {
    event_.set_wrong(field_, (field_ < KinetoField::Phase ? "expected a number," : "expected a text,") + words);
  }
  if (field_ == KinetoField::InputTypes && inside() == 2) event_.add_type("");
  if (inside() >= 0) return true;
  if (section_ == Section::Events) refuse("expected an event," + words, event_key(events_));
  if (depth_ == 0) refuse("expected an object with the key traceEvents," + words, "");
  if (header_key_ == "traceEvents") refuse("expected a list of events," + words, header_key_);
  if (header_key_ == "distributedInfo.rank" || header_key_ == "distributedInfo.world_size") {
    refuse("expected a number," + words, header_key_);
  }
  return true;
}

/// An object or an array begins.
void KinetoParser::open(bool is_array) {
  const char* found = is_array ? "a list" : "an object";
  if (depth_ > 0 && section_ == Section::Events && depth_ + 1 == event_depth_) {
    if (is_array) refuse("expected an event, found a list", event_key(events_));
    event_.clear();
    field_ = KinetoField::None;
  }
  if (at_field()) take_other(found);
  if (depth_ == 1 && section_ == Section::Other && header_key_ == "traceEvents") {
    if (!is_array) refuse("expected a list of events, found an object", header_key_);
    section_ = Section::Events;
    has_events_ = true;
  }
  if (depth_ == 1 && header_key_ == "distributedInfo" && !is_array) section_ = Section::Distributed;
  if (depth_ == 1 && header_key_ == "deviceProperties" && is_array) section_ = Section::Devices;
  ++depth_;
}

bool KinetoParser::start_object(std::size_t /*elements*/) {
  const bool is_arguments = inside() == 0 && field_ == KinetoField::Arguments;
  open(false);
  if (is_arguments) in_arguments_ = true;
  return true;
}

bool KinetoParser::key(string_t& key) {
  if (inside() >= 0) {
    field_ = at_field() ? kineto_field(key, in_arguments_) : KinetoField::None;
  } else if (depth_ == 1) {
    header_key_ = key;
  } else if (depth_ == 2 && section_ == Section::Distributed) {
    header_key_ = "distributedInfo." + key;
  } else if (depth_ == 3 && section_ == Section::Devices) {
    header_key_ = "deviceProperties." + key;
  }
  return true;
}

bool KinetoParser::end_object() {
  if (inside() == 1) in_arguments_ = false;
  if (inside() == 0) finish_event();
  if (--depth_ == 1 && event_depth_ == 3) {
    section_ = Section::Other;
    header_key_.clear();
  }
  return true;
}

bool KinetoParser::start_array(std::size_t /*elements*/) {
  if (depth_ == 0) {
    section_ = Section::Events;
    event_depth_ = 2;
    has_events_ = true;
  }
  if (field_ == KinetoField::GroupRanks && at_field()) {
    event_.start_ranks();
    ++depth_;
    return true;
  }
  open(true);
  if (field_ != KinetoField::InputDims) return true;
  if (inside() == 3) {
    listed_.reset();
    first_ = -1;
  }
  if (inside() == 3 || inside() == 4) elements_ = 1;
  return true;
}

bool KinetoParser::end_array() {
  if (field_ == KinetoField::InputDims && inside() == 4) {
    listed_ = std::min(listed_.value_or(0) + elements_, kMostInputElements);
    elements_ = 1;
  }
  if (field_ == KinetoField::InputDims && inside() == 3) event_.add_dimensions(listed_.value_or(elements_), first_);
  if (--depth_ <= 1 && event_depth_ == 3) {
    section_ = Section::Other;
    header_key_.clear();
  }
  return true;
}

void KinetoParser::finish_event() {
  try {
    collector_.add(event_);
  } catch (const InputError& problem) {
    InputPlace place = source_.place();
    place.key = event_key(events_) + (problem.place().key.empty() ? "" : "." + problem.place().key);
    throw InputError(problem.message(), place, problem.hint());
  }
  ++events_;
}

void KinetoParser::refuse(const std::string& message, const std::string& key) const {
  InputPlace place = source_.place();
  place.key = key;
  throw InputError(message, place);
}

bool KinetoParser::parse_error(std::size_t /*position*/, const std::string& /*token*/,
                               const nlohmann::detail::exception& problem) {
  constexpr int kNumberOverflow = 406;
  if (problem.id == kNumberOverflow) refuse("expected a number of 64 bits, found one out of range", "");
  const std::string_view words(problem.what());
  const bool is_cut = words.find("unexpected end of input") != std::string_view::npos ||
                      (source_.at_end() && words.find("invalid ") != std::string_view::npos);
  if (is_cut) {
    throw InputError("the trace is cut off", source_.place(), "was the profiler or the copy of the file stopped?");
  }
  throw InputError("the trace is not JSON from here on", source_.place(),
                   "some versions of the profiler write inf or nan, or names that are not UTF-8: replace these");
}

KinetoTrace read_trace(CharacterSource& source, const std::string& file_name) {
  KinetoCollector collector(file_name);
  KinetoParser parser(source, collector);
  static_cast<void>(nlohmann::json::sax_parse(SourceIterator(source), SourceIterator(), &parser));
  if (!parser.has_events()) {
    throw InputError("expected a trace of the PyTorch profiler, found no traceEvents", {file_name, 0, 0, ""},
                     "export it with export_chrome_trace or tensorboard_trace_handler");
  }
  return std::move(collector.trace());
}

}  // namespace

KinetoTrace read_kineto_trace(const std::string& path) {
  GzipFile file(path);
  CharacterSource source(path, [&](char* data, std::size_t size) { return file.read(data, size); });
  return read_trace(source, path);
}

KinetoTrace parse_kineto_trace(std::string_view text, const std::string& file_name) {
  CharacterSource source(file_name, [&](char* data, std::size_t size) {
    const std::size_t count = text.copy(data, size);
    text.remove_prefix(count);
    return count;
  });
  return read_trace(source, file_name);
}

}  // namespace stagecraft
