#pragma once

#include "planners/madpipe/mixed_program.hpp"
#include "planners/madpipe/pattern_problem.hpp"
#include "sim/base/ticks.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace stagecraft::madpipe {

/// The program whose optimum is the least period between two given ones: maximise the frequency, which makes all rows
/// linear. Columns of the program: the starts of the tasks in periods, the turns of the pairs, and last the frequency:
/// the problem's least period over the period.
[[nodiscard]] MixedProgram pattern_program(const PatternProblem& problem, Ticks shortest, Ticks longest);

[[nodiscard]] std::vector<double> program_values(const PatternProblem& problem, const Turns& turns,
                                                 std::span<const Ticks> starts, Ticks period);

/// What the values of a solution say.
[[nodiscard]] double period_in(const PatternProblem& problem, const std::vector<double>& values);
[[nodiscard]] Turns turns_in(const PatternProblem& problem, const std::vector<double>& values);

}  // namespace stagecraft::madpipe
