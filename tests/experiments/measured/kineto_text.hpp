#pragma once

#include "sim/io/kineto_trace.hpp"

#include <string>

namespace stagecraft::test {

/// The text of a trace, event by event. Times are in microseconds; `more` are further arguments, such as
/// `,"Group size":4`.
class KinetoText {
 public:
  KinetoText& kernel(const std::string& name, double start, double duration, int correlation,
                     const std::string& more = "");
  KinetoText& call(int thread, double start, int correlation);
  KinetoText& scope(const std::string& category, const std::string& name, int thread, double start, double duration);
  KinetoText& module(const std::string& name, int thread, double start, double duration);
  /// `forward_thread` is 0 in the forward.
  KinetoText& op(const std::string& name, int thread, double start, double duration, int sequence,
                 int forward_thread = 0, const std::string& more = "");
  KinetoText& link(int id, int from_thread, double from, int to_thread, double to);

  [[nodiscard]] std::string text(int rank = 0) const;
  [[nodiscard]] KinetoTrace trace(int rank = 0) const;

 private:
  KinetoText& add(const std::string& event);
  std::string events_;
};

}  // namespace stagecraft::test
