#include "planners/madpipe/mixed_program.hpp"

#include "sim/base/child_process.hpp"

#include <coin/Cbc_C_Interface.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

namespace stagecraft::madpipe {
namespace {

struct Deleter {
  void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};
using Model = std::unique_ptr<Cbc_Model, Deleter>;

/// Sets the parameters so that every run makes the same search: one thread, no time limit, a fixed seed.
void set_parameters(Cbc_Model* model, std::int64_t node_limit) {
  const std::string nodes = std::to_string(node_limit);
  Cbc_setParameter(model, "log", "0");
  Cbc_setParameter(model, "threads", "0");
  Cbc_setParameter(model, "randomCbcSeed", "1");
  Cbc_setParameter(model, "maxNodes", nodes.c_str());
  Cbc_setParameter(model, "ratioGap", "0");
  Cbc_setParameter(model, "allowableGap", "0");
  Cbc_setParameter(model, "increment", "1e-8");
}

Model load(const MixedProgram& program) {
  Model model(Cbc_newModel());
  for (std::size_t c = 0; c < program.columns.size(); ++c) {
    const ProgramColumn& column = program.columns[c];
    const std::string name = "c" + std::to_string(c);
    Cbc_addCol(model.get(), name.c_str(), column.least, column.most, column.cost, column.is_integer ? 1 : 0, 0, nullptr,
               nullptr);
  }
  for (std::size_t r = 0; r < program.rows.size(); ++r) {
    const ProgramRow& row = program.rows[r];
    std::vector<int> columns;
    std::vector<double> coefficients;
    for (const auto& [column, coefficient] : row.terms) {
      columns.push_back(static_cast<int>(column));
      coefficients.push_back(coefficient);
    }
    const auto count = static_cast<int>(columns.size());
    const auto add = [&](const char* side, char sense, double bound) {
      const std::string name = side + std::to_string(r);
      Cbc_addRow(model.get(), name.c_str(), count, columns.data(), coefficients.data(), sense, bound);
    };
    if (row.least > -kUnbounded) add("g", 'G', row.least);
    if (row.most < kUnbounded) add("l", 'L', row.most);
  }
  return model;
}

void set_start(Cbc_Model* model, const std::vector<double>& start) {
  if (start.empty()) return;
  std::vector<int> columns(start.size());
  for (std::size_t c = 0; c < start.size(); ++c) columns[c] = static_cast<int>(c);
  Cbc_setMIPStartI(model, static_cast<int>(start.size()), columns.data(), start.data());
}

ProgramOutcome outcome_of(Cbc_Model* model) {
  if (Cbc_isProvenOptimal(model) != 0) return ProgramOutcome::Solved;
  if (Cbc_isProvenInfeasible(model) != 0) return ProgramOutcome::Infeasible;
  return Cbc_isNodeLimitReached(model) != 0 ? ProgramOutcome::Limit : ProgramOutcome::Failed;
}

ProgramAnswer solve_here(const MixedProgram& program, const std::vector<double>& start, std::int64_t node_limit) {
  const Model model = load(program);
  set_parameters(model.get(), node_limit);
  set_start(model.get(), start);
  Cbc_solve(model.get());
  ProgramAnswer answer{outcome_of(model.get()), {}, Cbc_getNodeCount(model.get())};
  if (const double* best = Cbc_bestSolution(model.get());
      best != nullptr && answer.outcome != ProgramOutcome::Infeasible) {
    answer.values.assign(best, best + program.columns.size());
  }
  return answer;
}

constexpr std::uint32_t kOutcomeFrame = 1;
constexpr std::uint32_t kValuesFrame = 2;

struct Verdict {
  ProgramOutcome outcome;
  std::int64_t nodes;
};

template <class T>
std::string bytes_of(const T* values, std::size_t count) {
  std::string bytes(count * sizeof(T), '\0');
  if (count > 0) std::memcpy(bytes.data(), values, bytes.size());
  return bytes;
}

}  // namespace

ProgramAnswer solve(const MixedProgram& program, const std::vector<double>& start, std::int64_t node_limit) {
  // A child process, because the solver writes to standard output and may end its process.
  ChildProcess child([&](FrameSender& sender) {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the stream stays the library's
    if (std::freopen("/dev/null", "w", stdout) == nullptr) return;
    const ProgramAnswer answer = solve_here(program, start, node_limit);
    const Verdict verdict{answer.outcome, answer.nodes};
    sender.send(kValuesFrame, bytes_of(answer.values.data(), answer.values.size()));
    sender.send(kOutcomeFrame, bytes_of(&verdict, 1));
  });
  ProgramAnswer answer;
  while (const std::optional<Frame> frame = child.receive()) {
    if (frame->kind == kValuesFrame) {
      answer.values.resize(frame->bytes.size() / sizeof(double));
      if (!answer.values.empty()) std::memcpy(answer.values.data(), frame->bytes.data(), frame->bytes.size());
    } else {
      Verdict verdict{};
      std::memcpy(&verdict, frame->bytes.data(), sizeof verdict);
      answer.outcome = verdict.outcome;
      answer.nodes = verdict.nodes;
    }
  }
  child.wait();
  return answer;
}

}  // namespace stagecraft::madpipe
