#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace stagecraft::madpipe {

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// A variable of a mixed-integer linear program.
struct ProgramColumn {
  double least = 0.0;
  double most = kUnbounded;
  double cost = 0.0;
  bool is_integer = false;
};
/// least <= sum of coefficient × column <= most.
struct ProgramRow {
  std::vector<std::pair<std::size_t, double>> terms;
  double least = -kUnbounded;
  double most = kUnbounded;
};
/// Minimise the cost of the columns under the rows.
struct MixedProgram {
  std::vector<ProgramColumn> columns;
  std::vector<ProgramRow> rows;
};

enum class ProgramOutcome {
  Solved,      ///< `values` are optimal
  Infeasible,  ///< no values satisfy the rows
  Limit,       ///< the node limit was reached; `values` are the best found so far, if any
  Failed,      ///< the solver failed or its process died
};
struct ProgramAnswer {
  ProgramOutcome outcome = ProgramOutcome::Failed;
  std::vector<double> values;  ///< of each column; integers may be off by the solver's tolerance
  std::int64_t nodes = 0;      ///< nodes of all searches; the limit applies only to the main one
};

/// Solves a program with CBC in a child process, on one thread, with a limit on nodes and none on time. So the answer
/// depends only on the program, the start and the limit.
/// **Shape** `start`: a first solution with the values of all columns, or empty.
[[nodiscard]] ProgramAnswer solve(const MixedProgram& program, const std::vector<double>& start,
                                  std::int64_t node_limit);

}  // namespace stagecraft::madpipe
