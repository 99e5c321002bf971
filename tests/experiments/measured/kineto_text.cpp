#include "tests/experiments/measured/kineto_text.hpp"

#include <fmt/core.h>

namespace stagecraft::test {

KinetoText& KinetoText::add(const std::string& event) {
  events_ += (events_.empty() ? "{" : ",\n{") + event + "}";
  return *this;
}

KinetoText& KinetoText::kernel(const std::string& name, double start, double duration, int correlation,
                               const std::string& more) {
  return add(fmt::format(R"("ph":"X","cat":"kernel","name":"{}","pid":0,"tid":7,"ts":{},"dur":{},)"
                         R"("args":{{"device":0,"stream":7,"correlation":{}{}}})",
                         name, start, duration, correlation, more));
}

KinetoText& KinetoText::call(int thread, double start, int correlation) {
  return add(fmt::format(R"("ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":{},"ts":{},"dur":1,)"
                         R"("args":{{"correlation":{}}})",
                         thread, start, correlation));
}

KinetoText& KinetoText::scope(const std::string& category, const std::string& name, int thread, double start,
                              double duration) {
  return add(fmt::format(R"("ph":"X","cat":"{}","name":"{}","pid":1,"tid":{},"ts":{},"dur":{})", category, name, thread,
                         start, duration));
}

KinetoText& KinetoText::module(const std::string& name, int thread, double start, double duration) {
  return scope("python_function", "nn.Module: " + name, thread, start, duration);
}

KinetoText& KinetoText::op(const std::string& name, int thread, double start, double duration, int sequence,
                           int forward_thread, const std::string& more) {
  return add(fmt::format(R"("ph":"X","cat":"cpu_op","name":"{}","pid":1,"tid":{},"ts":{},"dur":{},)"
                         R"("args":{{"Sequence number":{},"Fwd thread id":{}{}}})",
                         name, thread, start, duration, sequence, forward_thread, more));
}

KinetoText& KinetoText::link(int id, int from_thread, double from, int to_thread, double to) {
  constexpr const char* kEnd = R"("ph":"{}","cat":"fwdbwd","id":{},"pid":1,"tid":{},"ts":{})";
  return add(fmt::format(kEnd, "s", id, from_thread, from)).add(fmt::format(kEnd, "f", id, to_thread, to));
}

std::string KinetoText::text(int rank) const {
  return fmt::format(R"({{"distributedInfo":{{"rank":{}}},"traceEvents":[{}]}})", rank, events_);
}

KinetoTrace KinetoText::trace(int rank) const {
  return parse_kineto_trace(text(rank), "rank" + std::to_string(rank) + ".json");
}

}  // namespace stagecraft::test
