#pragma once

#include "planners/madpipe/mixed_program.hpp"
#include "planners/madpipe/pattern_problem.hpp"
#include "sim/base/ticks.hpp"

#include <span>
#include <vector>

namespace stagecraft::madpipe {

/// The integer program whose optimum is the least period between `shortest` and `longest`. It maximises the frequency
/// 1/T: with times measured in periods, all rows are linear in it. Its columns are the starts of the tasks in periods,
/// then the turns of the pairs, and last the frequency, as the problem's least period divided by the period.
[[nodiscard]] MixedProgram pattern_program(const PatternProblem& problem, Ticks shortest, Ticks longest);

[[nodiscard]] std::vector<double> program_values(const PatternProblem& problem, const Turns& turns,
                                                 std::span<const Ticks> starts, Ticks period);

/// The period and the turns in the values of a solution.
[[nodiscard]] double period_in(const PatternProblem& problem, const std::vector<double>& values);
[[nodiscard]] Turns turns_in(const PatternProblem& problem, const std::vector<double>& values);

}  // namespace stagecraft::madpipe
