#pragma once

#include <array>
#include <string>

namespace stagecraft {

/// The result so far of a command that takes long: what the program prints if it is interrupted while this lives.
/// **Requires** that there is no other one.
class ResultSoFar {
 public:
  ResultSoFar() = default;
  ~ResultSoFar();
  ResultSoFar(const ResultSoFar&) = delete;
  ResultSoFar& operator=(const ResultSoFar&) = delete;
  ResultSoFar(ResultSoFar&&) = delete;
  ResultSoFar& operator=(ResultSoFar&&) = delete;

  void set(std::string text);

 private:
  std::array<std::string, 2> texts_;  ///< the one that an interrupt prints, and the one before it
  bool is_second_ = false;
};

/// Writes the result so far to standard output, if there is one and it is that of this process and not of the one that
/// forked it. For a signal handler.
void write_result_so_far();

}  // namespace stagecraft
