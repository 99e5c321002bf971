#include "sim/io/kineto_event.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace stagecraft {
namespace {

/// A time and the base of all times have this limit, so that times of two traces differ by 9e18 ns at most.
constexpr std::int64_t kMostMicroseconds = 3'000'000'000'000'000;
constexpr Nanoseconds kLongestEvent = 1'000'000'000'000'000;     // eleven days
constexpr Nanoseconds kMostKernelTime = 10'000'000'000'000'000;  // 116 days
constexpr std::size_t kMostKept = 50'000'000;
constexpr std::size_t kMostDeviceNames = 64;
constexpr std::size_t kMostOfGroup = 1 << 20;
constexpr std::size_t kMostInputs = 1024;
constexpr std::size_t kMostWordBytes = 256;  ///< of a type, category, …
constexpr std::size_t kMostTextBytes = std::size_t{1} << 20;
constexpr std::size_t kMostNameBytes = std::size_t{128} << 20;  ///< of all together
constexpr std::int64_t kMostElements = std::int64_t{1} << 46;

struct FieldName {
  std::string_view key;
  KinetoField field;
  bool is_argument;
};

constexpr std::array<FieldName, 25> kFieldNames{{{"ts", KinetoField::Time, false},
                                                 {"dur", KinetoField::Duration, false},
                                                 {"pid", KinetoField::Process, false},
                                                 {"tid", KinetoField::Thread, false},
                                                 {"id", KinetoField::Id, false},
                                                 {"ph", KinetoField::Phase, false},
                                                 {"cat", KinetoField::Category, false},
                                                 {"name", KinetoField::Name, false},
                                                 {"args", KinetoField::Arguments, false},
                                                 {"correlation", KinetoField::Correlation, true},
                                                 {"stream", KinetoField::Stream, true},
                                                 {"device", KinetoField::Device, true},
                                                 {"Sequence number", KinetoField::Sequence, true},
                                                 {"Fwd thread id", KinetoField::ForwardThread, true},
                                                 {"In msg nelems", KinetoField::ElementsIn, true},
                                                 {"Out msg nelems", KinetoField::ElementsOut, true},
                                                 {"Group size", KinetoField::GroupSize, true},
                                                 {"Src Rank", KinetoField::SourceRank, true},
                                                 {"Dst Rank", KinetoField::TargetRank, true},
                                                 {"Collective name", KinetoField::Collective, true},
                                                 {"dtype", KinetoField::ElementType, true},
                                                 {"Process Group Name", KinetoField::GroupName, true},
                                                 {"Process Group Ranks", KinetoField::GroupRanks, true},
                                                 {"Input Dims", KinetoField::InputDims, true},
                                                 {"Input type", KinetoField::InputTypes, true}}};

std::string key_of(KinetoField field) {
  const auto* found = std::ranges::find(kFieldNames, field, &FieldName::field);
  return (found->is_argument ? "args." : "") + std::string(found->key);
}

std::size_t text_at(KinetoField field) { return static_cast<std::size_t>(field) - kKinetoNumbers; }

/// A number from `least` to `most`, or `least` - 1 where there is none.
std::int64_t ranged(const KinetoEvent& event, KinetoField field, std::int64_t least, std::int64_t most) {
  const std::int64_t value = event.number_or(field, least - 1);
  if (event.number(field) && (value < least || value > most)) {
    throw InputError("expected a number from " + std::to_string(least) + " to " + std::to_string(most) + ", found " +
                         std::to_string(value),
                     {"", 0, 0, key_of(field)});
  }
  return value;
}

Nanoseconds duration_of(const KinetoEvent& event) {
  const Nanoseconds duration = event.required(KinetoField::Duration);
  if (duration < 0 || duration > kLongestEvent) {
    throw InputError(
        "expected a duration from 0 to 1e12 us, found " + format_number(static_cast<double>(duration) / 1e3),
        {"", 0, 0, key_of(KinetoField::Duration)});
  }
  return duration;
}

std::size_t most_bytes(KinetoField field) {
  return field == KinetoField::Name || field == KinetoField::GroupRanks ? kMostTextBytes : kMostWordBytes;
}

/// Ranks as a list of them gives these: `[0, 1]` becomes `0,1`.
std::string ranks_of(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '[' || c == ']'; });
  return text;
}

}  // namespace

KinetoField kineto_field(std::string_view key, bool is_argument) {
  for (const FieldName& name : kFieldNames) {
    if (name.is_argument == is_argument && name.key == key) return name.field;
  }
  return KinetoField::None;
}

void KinetoEvent::clear() {
  has_.fill(false);
  for (std::string& text : texts_) text.clear();
  wrong_.clear();
  inputs_.clear();
  types_.clear();
}

void KinetoEvent::set(KinetoField field, std::int64_t number) {
  numbers_[static_cast<std::size_t>(field)] = number;
  has_[static_cast<std::size_t>(field)] = true;
}

void KinetoEvent::set(KinetoField field, const std::string& text) {
  if (text.size() > most_bytes(field)) {
    set_wrong(field, "expected a text of at most " + std::to_string(most_bytes(field)) + " bytes, found " +
                         std::to_string(text.size()));
    return;
  }
  texts_[text_at(field)] = field == KinetoField::GroupRanks ? ranks_of(text) : text;
}

void KinetoEvent::add_rank(std::int64_t rank) {
  std::string& ranks = texts_[text_at(KinetoField::GroupRanks)];
  if (ranks.size() >= kMostTextBytes) {
    set_wrong(KinetoField::GroupRanks,
              "expected a list of at most " + std::to_string(kMostTextBytes) + " bytes, found a longer one");
    return;
  }
  if (!ranks.empty()) ranks += ',';
  ranks += std::to_string(rank);
}

const std::pair<KinetoField, std::string>* KinetoEvent::wrong(KinetoField field) const {
  const auto found = std::ranges::find(wrong_, field, &std::pair<KinetoField, std::string>::first);
  return found == wrong_.end() ? nullptr : &*found;
}

void KinetoEvent::set_wrong(KinetoField field, std::string_view found) {
  if (wrong(field) == nullptr) wrong_.emplace_back(field, found);
}

void KinetoEvent::add_dimensions(std::int64_t elements, std::int64_t first) {
  if (inputs_.size() < kMostInputs) inputs_.push_back({elements, {}, first});
}

void KinetoEvent::add_type(const std::string& type) {
  if (types_.size() < kMostInputs) types_.push_back(type.size() > kMostWordBytes ? "" : type);
}

std::optional<std::int64_t> KinetoEvent::number(KinetoField field) const {
  if (!has_[static_cast<std::size_t>(field)]) return std::nullopt;
  return numbers_[static_cast<std::size_t>(field)];
}

const std::string& KinetoEvent::text(KinetoField field) const {
  refuse_wrong(field);
  return texts_[text_at(field)];
}

void KinetoEvent::refuse_wrong(KinetoField field) const {
  if (const auto* found = wrong(field)) throw InputError(found->second, {"", 0, 0, key_of(field)});
}

std::int64_t KinetoEvent::required(KinetoField field) const {
  refuse_wrong(field);
  const auto value = number(field);
  if (!value) throw InputError("expected a number, found none", {"", 0, 0, key_of(field)});
  return *value;
}

std::int64_t KinetoEvent::number_or(KinetoField field, std::int64_t otherwise) const {
  refuse_wrong(field);
  return number(field).value_or(otherwise);
}

std::vector<KinetoInput> KinetoEvent::inputs() const {
  std::vector<KinetoInput> inputs = inputs_;
  for (std::size_t i = 0; i < std::min(inputs.size(), types_.size()); ++i) inputs[i].type = types_[i];
  return inputs;
}

KinetoCollector::KinetoCollector(const std::string& file) {
  trace_.file = file;
  trace_.shapes.push_back({});
  shapes_[{}] = 0;
}

void KinetoCollector::count_kept() {
  if (++kept_ > kMostKept) {
    throw InputError("the trace has more than " + std::to_string(kMostKept) + " kernels, calls and ranges", {},
                     "profile fewer steps");
  }
}

std::uint32_t KinetoCollector::name_of(const std::string& name, KinetoField field) {
  const auto [entry, is_new] = names_.try_emplace(name, static_cast<std::uint32_t>(trace_.names.size()));
  if (!is_new) return entry->second;
  trace_.names.push_back(name);
  name_bytes_ += name.size();
  if (name_bytes_ > kMostNameBytes) {
    throw InputError("expected different names of at most 128 MiB together, found more", {"", 0, 0, key_of(field)},
                     "profile fewer steps");
  }
  return entry->second;
}

KinetoMessage KinetoCollector::message_of(const KinetoEvent& event) {
  KinetoMessage message;
  message.collective = event.text(KinetoField::Collective);
  message.group_size = ranged(event, KinetoField::GroupSize, 0, kMostOfGroup);
  message.source_rank = ranged(event, KinetoField::SourceRank, 0, kMostOfGroup);
  message.target_rank = ranged(event, KinetoField::TargetRank, 0, kMostOfGroup);
  message.group =
      name_of(event.text(KinetoField::GroupName) + " " + event.text(KinetoField::GroupRanks), KinetoField::GroupRanks);
  const std::int64_t elements = std::max(ranged(event, KinetoField::ElementsIn, 0, kMostElements),
                                         ranged(event, KinetoField::ElementsOut, 0, kMostElements));
  const auto each = element_bytes(event.text(KinetoField::ElementType));
  if (elements >= 0 && each) message.bytes = Bytes(elements * *each);
  return message;
}

std::uint32_t KinetoCollector::thread_of(const KinetoEvent& event) {
  const std::pair key{event.required(KinetoField::Process), event.required(KinetoField::Thread)};
  return threads_.try_emplace(key, static_cast<std::uint32_t>(threads_.size())).first->second;
}

std::uint32_t KinetoCollector::shapes_of(const KinetoEvent& event) {
  const std::vector<KinetoInput> inputs = event.inputs();
  if (inputs.empty()) return 0;
  const KinetoShapes shapes = kineto_shapes(event.text(KinetoField::Name), inputs);
  const auto [entry, is_new] = shapes_.try_emplace(shapes, static_cast<std::uint32_t>(trace_.shapes.size()));
  if (is_new) trace_.shapes.push_back(shapes);
  return entry->second;
}

void KinetoCollector::add(const KinetoEvent& event) {
  const std::string& phase = event.text(KinetoField::Phase);
  if (phase == "X") add_complete(event);
  if ((phase == "s" || phase == "f") && event.text(KinetoField::Category) == "fwdbwd") add_link(event, phase == "s");
}

void KinetoCollector::add_device(const std::string& name) {
  std::vector<std::string>& names = trace_.device_names;
  if (names.size() == kMostDeviceNames || name.size() > kMostWordBytes) return;
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

void KinetoCollector::add_complete(const KinetoEvent& event) {
  const std::string& category = event.text(KinetoField::Category);
  if (category == "kernel") add_kernel(event);
  if (category == "cuda_runtime" || category == "cuda_driver") add_call(event);
  if (category == "cpu_op") add_scope(event, ScopeKind::Operator);
  if (category == "user_annotation") add_scope(event, ScopeKind::Annotation);
  if (category == "python_function" && event.text(KinetoField::Name).starts_with("nn.Module: ")) {
    add_scope(event, ScopeKind::Module);
  }
}

void KinetoCollector::add_kernel(const KinetoEvent& event) {
  count_kept();
  constexpr std::int64_t kMost32 = 1 << 30;
  KinetoKernel kernel{event.required(KinetoField::Time),
                      duration_of(event),
                      event.number_or(KinetoField::Correlation, -1),
                      event.number_or(KinetoField::Stream, -1),
                      static_cast<std::int32_t>(ranged(event, KinetoField::Device, 0, kMost32)),
                      name_of(event.text(KinetoField::Name), KinetoField::Name)};
  kernel_time_ += kernel.duration;
  if (kernel_time_ > kMostKernelTime) {
    throw InputError("expected kernels that take at most 1e13 us together, found more",
                     {"", 0, 0, key_of(KinetoField::Duration)});
  }
  if (!event.text(KinetoField::Collective).empty()) {
    kernel.message = static_cast<std::int32_t>(trace_.messages.size());
    trace_.messages.push_back(message_of(event));
  }
  trace_.kernels.push_back(kernel);
}

void KinetoCollector::add_call(const KinetoEvent& event) {
  const std::int64_t correlation = event.number_or(KinetoField::Correlation, -1);
  if (correlation < 0) return;
  count_kept();
  trace_.calls.push_back({event.required(KinetoField::Time), correlation, thread_of(event)});
}

void KinetoCollector::add_scope(const KinetoEvent& event, ScopeKind kind) {
  count_kept();
  KinetoScope scope;
  scope.start = event.required(KinetoField::Time);
  scope.end = scope.start + duration_of(event);
  scope.thread = thread_of(event);
  scope.name = name_of(event.text(KinetoField::Name), KinetoField::Name);
  scope.kind = kind;
  if (kind == ScopeKind::Operator) {
    scope.sequence = event.number_or(KinetoField::Sequence, -1);
    scope.forward_thread = event.number_or(KinetoField::ForwardThread, 0);
    scope.shapes = shapes_of(event);
  }
  trace_.scopes.push_back(scope);
}

void KinetoCollector::add_link(const KinetoEvent& event, bool starts) {
  count_kept();
  trace_.links.push_back(
      {event.required(KinetoField::Id), event.required(KinetoField::Time), thread_of(event), starts});
}

std::optional<Nanoseconds> nanoseconds_of(std::string_view microseconds) {
  constexpr auto kMost = static_cast<double>(kMostMicroseconds);
  const double value = std::strtod(std::string(microseconds).c_str(), nullptr);
  if (!(std::abs(value) <= kMost)) return std::nullopt;
  if (microseconds.find_first_of("eE") != std::string_view::npos) return std::llround(value * 1e3);
  const bool is_negative = microseconds.starts_with('-');
  if (is_negative) microseconds.remove_prefix(1);
  const std::size_t point = std::min(microseconds.find('.'), microseconds.size());
  Nanoseconds time = 0;
  for (char digit : microseconds.substr(0, point)) time = time * 10 + (digit - '0');
  const std::string_view decimals = microseconds.substr(std::min(point + 1, microseconds.size()));
  for (std::size_t i = 0; i < 3; ++i) time = time * 10 + (i < decimals.size() ? decimals[i] - '0' : 0);
  if (decimals.size() > 3 && decimals[3] >= '5') ++time;
  return is_negative ? -time : time;
}

}  // namespace stagecraft
