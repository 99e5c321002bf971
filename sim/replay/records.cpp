#include "sim/replay/records.hpp"

#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

// One list of fields serves both directions: an archive either appends values to bytes or takes them from bytes.

class Writer {
 public:
  template <class Value>
  void raw(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);  // NOLINT: bytes of a number
  }
  void text(const std::string& value) {
    raw(value.size());
    bytes_ += value;
  }
  template <class Value>
  std::size_t count(const std::vector<Value>& values) {
    raw(values.size());
    return values.size();
  }
  /// A list of plain values, at once.
  template <class Value>
  void plain(const std::vector<Value>& values) {
    static_assert(std::is_trivially_copyable_v<Value>);
    raw(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));  // NOLINT: as in `raw`
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class Value>
  void raw(Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    std::memcpy(static_cast<void*>(&value), take(sizeof value).data(), sizeof value);
  }
  void text(std::string& value) {
    std::size_t size = 0;
    raw(size);
    value = take(size);
  }
  template <class Value>
  std::size_t count(std::vector<Value>& values) {
    std::size_t size = 0;
    raw(size);
    values.resize(size);
    return size;
  }
  /// Appends to `values`.
  template <class Value>
  void plain(std::vector<Value>& values) {
    static_assert(std::is_trivially_copyable_v<Value>);
    std::size_t size = 0;
    raw(size);
    const std::string_view from = take(size * sizeof(Value));
    const std::size_t before = values.size();
    values.resize(before + size);
    if (size > 0) std::memcpy(static_cast<void*>(&values[before]), from.data(), from.size());
  }
  void finish() const { STAGECRAFT_CHECK(bytes_.empty(), "a record is read to its end"); }

 private:
  std::string_view take(std::size_t size) {
    STAGECRAFT_CHECK(size <= bytes_.size(), "a record is complete");
    const std::string_view part = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return part;
  }
  std::string_view bytes_;
};

template <class Archive, class Value>
  requires std::is_trivially_copyable_v<std::remove_const_t<Value>>
void fields(Archive& archive, Value& value) {
  archive.raw(value);
}

template <class Archive, class Report>
  requires std::is_same_v<std::remove_const_t<Report>, DeviceReport>
void fields(Archive& archive, Report& value) {
  archive.raw(value.device);
  archive.count(value.stages);
  for (auto& stage : value.stages) archive.raw(stage);
  archive.count(value.stage_times);
  for (auto& time : value.stage_times) archive.raw(time);
  archive.raw(value.busy);
  archive.raw(value.bubble_ratio);
  archive.raw(value.time);
  archive.raw(value.memory);
  archive.raw(value.extent);
  archive.raw(value.in_flight_peak);
}

template <class Archive, class Stage>
  requires std::is_same_v<std::remove_const_t<Stage>, FollowingStage>
void fields(Archive& archive, Stage& value) {
  archive.count(value.layers);
  for (auto& layer : value.layers) archive.raw(layer);
  archive.count(value.devices);
  for (auto& device : value.devices) archive.raw(device);
  archive.raw(value.recomputed);
  archive.raw(value.swapped);
}

template <class Archive, class Question>
  requires std::is_same_v<std::remove_const_t<Question>, ReplanQuestion>
void fields(Archive& archive, Question& value) {
  archive.raw(value.cause);
  archive.raw(value.microbatch);
  archive.raw(value.at);
  archive.raw(value.keeping);
  archive.raw(value.changing);
  archive.raw(value.stall);
  archive.text(value.reason);
  archive.raw(value.first);
  archive.count(value.stages);
  for (auto& stage : value.stages) fields(archive, stage);
  archive.raw(value.live);
  archive.raw(value.stall_begin);
  archive.raw(value.stall_middle);
  archive.raw(value.stall_end);
  archive.raw(value.redone);
  archive.raw(value.model);
  archive.raw(value.microbatch_size);
}

template <class Archive, class List>
void list(Archive& archive, List& values) {
  archive.count(values);
  for (auto& value : values) fields(archive, value);
}

template <class Archive, class Whole>
void report_fields(Archive& archive, Whole& report) {
  list(archive, report.iterations);
  archive.raw(report.measured);
  archive.raw(report.period);
  archive.raw(report.drift);
  archive.raw(report.throughput);
  archive.raw(report.bubble_ratio);
  archive.raw(report.span_bubble_ratio);
  archive.raw(report.ideal_bubble_ratio);
  archive.raw(report.recompute_time);
  archive.raw(report.exposed_communication);
  list(archive, report.devices);
  list(archive, report.hosts);
  list(archive, report.links);
  archive.raw(report.bottleneck);
  list(archive, report.overflows);
  list(archive, report.course.windows);
  list(archive, report.course.questions);
  list(archive, report.course.replans);
  list(archive, report.course.migrations);
  list(archive, report.course.strikes);
  archive.raw(report.operations);
  archive.raw(report.end);
}

template <class Archive, class Failure>
void failure_fields(Archive& archive, Failure& failure) {
  archive.raw(failure.code);
  archive.text(failure.message);
  archive.text(failure.place.file);
  archive.raw(failure.place.line);
  archive.raw(failure.place.column);
  archive.text(failure.place.key);
  archive.text(failure.hint);
}

}  // namespace

FailureRecord failure_record(const std::exception& error) {
  if (const auto* input = dynamic_cast<const InputError*>(&error)) {
    return {input->code(), input->message(), input->place(), input->hint()};
  }
  const auto* ours = dynamic_cast<const Error*>(&error);
  return {ours != nullptr ? ours->code() : ExitCode::Internal, error.what(), {}, {}};
}

void throw_again(const FailureRecord& failure) {
  if (failure.code == ExitCode::Input) throw InputError(failure.message, failure.place, failure.hint);
  if (failure.code == ExitCode::Internal) throw InternalError(failure.message);
  throw Error(failure.code, failure.message);
}

std::string encode(const ReplayProgress& progress) {
  Writer writer;
  writer.raw(progress);
  return writer.take();
}

std::string encode(const RunRecord& chunk) {
  Writer writer;
  writer.plain(chunk.timeline);
  writer.plain(chunk.memory);
  writer.plain(chunk.dependencies);
  writer.plain(chunk.turns);
  return writer.take();
}

std::string encode(const Report& report) {
  Writer writer;
  report_fields(writer, report);
  return writer.take();
}

std::string encode(const FailureRecord& failure) {
  Writer writer;
  failure_fields(writer, failure);
  return writer.take();
}

ReplayProgress decode_progress(std::string_view bytes) {
  Reader reader(bytes);
  ReplayProgress progress;
  reader.raw(progress);
  reader.finish();
  return progress;
}

void decode_record(std::string_view bytes, RunRecord& append_to) {
  Reader reader(bytes);
  reader.plain(append_to.timeline);
  reader.plain(append_to.memory);
  reader.plain(append_to.dependencies);
  reader.plain(append_to.turns);
  reader.finish();
}

Report decode_report(std::string_view bytes) {
  Reader reader(bytes);
  Report report;
  report_fields(reader, report);
  reader.finish();
  return report;
}

FailureRecord decode_failure(std::string_view bytes) {
  Reader reader(bytes);
  FailureRecord failure;
  failure_fields(reader, failure);
  reader.finish();
  return failure;
}

}  // namespace stagecraft
