#include "sim/io/schedule_csv.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/schedule_csv_text.hpp"
#include "sim/model/replicas.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

/// Files since December 2024, or those before, in which `B` is the input gradient and `BW` the whole backward.
enum class Dialect { Current, Of2024 };

/// What the fields of a file have in common.
struct Features {
  Dialect dialect = Dialect::Current;
  bool transfers = false;  ///< sends or receives
  bool marks = false;      ///< what PyTorch does around the computations: the file is none of computations alone
};

Features features_of(const CsvRows& rows) {
  std::array<bool, kCsvKinds.size()> has{};
  for (const auto& row : rows) {
    for (const CsvField& field : row) {
      for (const CsvOperation& operation : field.operations) has.at(operation.kind) = true;
    }
  }
  const auto any = [&](CsvWork work) {
    for (std::size_t kind = 0; kind < kCsvKinds.size(); ++kind) {
      if (has.at(kind) && kCsvKinds.at(kind).work == work) return true;
    }
    return false;
  };
  const bool is_old = has.at(csv_kind("BW")) || (has.at(csv_kind("W")) && !has.at(csv_kind("I")));
  return {is_old ? Dialect::Of2024 : Dialect::Current, any(CsvWork::Transfer), any(CsvWork::Mark)};
}

/// A plan of which each stage is on one device, in one pipeline: what a table can say.
void refuse_plan(const Plan& plan, const InputPlace& place) {
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    if (plan.stages[s].replicas.size() == 1) continue;
    throw InputError("a table of PyTorch has each stage on one rank, but stage " + std::to_string(s) +
                         " of the plan has " + counted(plan.stages[s].replicas.size(), "replica"),
                     place, "a table says the schedule of one replica of the pipeline");
  }
  if (Replicas(plan).pipelines() == 1) return;
  throw InputError("a table of PyTorch has each part of the model on one rank, but the plan has several pipelines",
                   place, "a schedule file says such orders");
}

/// Turns the fields to the orders of the plan's devices.
class TableOrders {
 public:
  TableOrders(const CsvText& text, const Plan& plan, const Platform& platform)
      : text_(text), plan_(plan), platform_(platform), features_(features_of(text.rows())) {}

  [[nodiscard]] GivenOrders orders() {
    GivenOrders orders;
    if (features_.transfers) orders.schedule.transfers = Transfers::Stream;
    for (std::size_t rank = 0; rank < text_.rows().size(); ++rank) add_rank(rank, orders);
    refuse_shifted(orders);
    return orders;
  }

 private:
  void add_rank(std::size_t rank, GivenOrders& orders) {
    DeviceOrder order;
    std::vector<std::uint32_t> steps;
    std::optional<std::uint32_t> first;  // stage
    const auto& row = text_.rows()[rank];
    for (std::size_t step = 0; step < row.size(); ++step) {
      if (row[step].operations.empty()) refuse_idle(rank, step);
      for (const CsvOperation& operation : row[step].operations) {
        check_stage(operation.stage, rank, step, first.value_or(operation.stage));
        if (!first) first = operation.stage;
        const std::optional<ActionKind> kind = kind_of(operation, rank, step);
        if (!kind) continue;
        Action action;
        action.kind = *kind;
        action.joined = row[step].operations.size() == 2 && &operation == &row[step].operations.back();
        action.stage = StageId(operation.stage);
        action.microbatch = operation.microbatch;
        order.actions.push_back(action);
        steps.push_back(static_cast<std::uint32_t>(step));
      }
    }
    if (!first) text_.fail(rank, "expected the operations of a rank, found none", "every rank runs a stage");
    order.device = device_of(*first);
    for (std::size_t before = 0; before < orders.schedule.devices.size(); ++before) {
      if (orders.schedule.devices[before].device != order.device) continue;
      text_.fail(rank, "the plan has the stages of ranks " + std::to_string(before) + " and " + std::to_string(rank) +
                           " on one device, " + name(order.device));
    }
    orders.schedule.devices.push_back(std::move(order));
    orders.steps.push_back(std::move(steps));
  }

  void refuse_idle(std::size_t rank, std::size_t step) const {
    if (!features_.transfers && !features_.marks) return;
    text_.fail(rank, step, "expected an operation, found an empty field",
               "only files of computations alone have idle steps");
  }

  /// A stage is on one rank, and the stages of a rank are on one device of the plan.
  void check_stage(std::uint32_t stage, std::size_t rank, std::size_t step, std::uint32_t first) {
    if (stage >= plan_.stages.size()) {
      text_.fail(rank, step,
                 "stage " + std::to_string(stage) + " is not in the plan, which has " +
                     counted(plan_.stages.size(), "stage") + ", counted from 0");
    }
    const auto [owner, is_new] = ranks_.emplace(stage, rank);
    if (owner->second != rank) {
      text_.fail(rank, step,
                 "stage " + std::to_string(stage) + " is on rank " + std::to_string(owner->second) +
                     " too; a table has each stage on one rank");
    }
    if (device_of(stage) != device_of(first)) {
      text_.fail(rank, step,
                 "stage " + std::to_string(stage) + " is on another device of the plan, " + name(device_of(stage)) +
                     ", than stage " + std::to_string(first) + ", which is on " + name(device_of(first)),
                 "a rank runs the stages of one device");
    }
  }

  /// None: what runs follows from the plan, as gathers and reductions do.
  [[nodiscard]] std::optional<ActionKind> kind_of(const CsvOperation& operation, std::size_t rank,
                                                  std::size_t step) const {
    const std::string_view code = kCsvKinds.at(operation.kind).code;
    if (features_.dialect == Dialect::Current) return kCsvKinds.at(operation.kind).action;
    if (code == "I" || text_.rows()[rank][step].operations.size() > 1) {
      text_.fail(rank, step,
                 "is an operation of files since December 2024, but the file is of the dialect before, in which B is "
                 "the input gradient and BW the whole backward");
    }
    if (code == "B") return ActionKind::BackwardInput;
    if (code == "BW") return ActionKind::Backward;
    return kCsvKinds.at(operation.kind).action;
  }

  /// PyTorch 2.14 numbers the forwards of the last rank of `Schedule1F1B` from 1, and its backwards from 0.
  void refuse_shifted(const GivenOrders& orders) const {
    struct Numbers {
      std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
      std::uint32_t most = 0;
      std::uint32_t step = 0;  ///< of the least
    };
    for (std::size_t rank = 0; rank < orders.schedule.devices.size(); ++rank) {
      std::map<StageId, std::array<Numbers, 2>> stages;
      const std::vector<Action>& actions = orders.schedule.devices[rank].actions;
      for (std::size_t i = 0; i < actions.size(); ++i) {
        if (actions[i].kind != ActionKind::Forward && !is_backward(actions[i].kind)) continue;
        Numbers& numbers = stages[actions[i].stage].at(is_backward(actions[i].kind) ? 1 : 0);
        if (actions[i].microbatch < numbers.least) numbers.step = orders.steps[rank][i];
        numbers.least = std::min(numbers.least, actions[i].microbatch);
        numbers.most = std::max(numbers.most, actions[i].microbatch);
      }
      for (const auto& [stage, numbers] : stages) {
        const auto& [forwards, backwards] = numbers;
        if (forwards.least != 1 || forwards.most != plan_.microbatches || backwards.least != 0) continue;
        text_.fail(rank, forwards.step,
                   "expected microbatches counted from 0, but the forwards of stage " + std::to_string(stage.value()) +
                       " are counted from 1",
                   "PyTorch 2.14 writes the last rank of Schedule1F1B so; its own reader refuses the file, too");
      }
    }
  }

  [[nodiscard]] DeviceId device_of(std::uint32_t stage) const { return plan_.stages[stage].replicas.front().lead(); }
  [[nodiscard]] const std::string& name(DeviceId device) const { return platform_.devices[device].name; }

  const CsvText& text_;
  const Plan& plan_;
  const Platform& platform_;
  Features features_;
  std::map<std::uint32_t, std::size_t> ranks_;  ///< by stage
};

/// The first thing of the orders that a table has no way to say; empty if there is none.
std::string unsaid(const Schedule& schedule) {
  if (!schedule.channels.empty()) return "the order of a channel's transfers";
  if (schedule.transfers == Transfers::Rendezvous) return "transfers that wait for their receivers";
  for (const DeviceOrder& order : schedule.devices) {
    if (order.discipline == Discipline::Ready) return "priorities instead of an order";
    for (const Action& action : order.actions) {
      if (action.duration != kFromModel) return "how long an operation takes";
      if (action.not_before > Seconds(0)) return "when an operation starts";
      if (action.joined && is_mark(action.kind)) return "which sends and receives go side by side";
    }
  }
  return "";
}

std::string operation_text(const Action& action) {
  const auto kind = std::ranges::find(kCsvKinds, std::optional(action.kind), &CsvKind::action);
  return std::to_string(action.stage.value()) + std::string(kind->code) + std::to_string(action.microbatch);
}

std::string pair_text(const Action& first, const Action& second) {
  const bool is_swapped = first.kind != ActionKind::Forward;
  return "(" + operation_text(is_swapped ? second : first) + ";" + operation_text(is_swapped ? first : second) + ")" +
         std::string(kCsvPair);
}

/// The line of a rank. `steps` is by action, or empty.
std::string line_of(const std::vector<Action>& actions, const std::vector<std::uint32_t>& steps) {
  std::string line;
  std::size_t fields = 0;
  for (std::size_t i = 0; i < actions.size(); ++i, ++fields) {
    if (fields > 0) line += ',';
    for (; !steps.empty() && fields < steps[i]; ++fields) line += ',';
    const bool is_pair = i + 1 < actions.size() && actions[i + 1].joined;
    line += is_pair ? pair_text(actions[i], actions[i + 1]) : operation_text(actions[i]);
    if (is_pair) ++i;
  }
  return line + "\r\n";
}

/// The orders that are not empty, by their ranks.
std::vector<std::size_t> ranks_of(const GivenOrders& orders) {
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < orders.schedule.devices.size(); ++i) {
    if (!orders.schedule.devices[i].actions.empty()) ranks.push_back(i);
  }
  if (!orders.steps.empty()) return ranks;
  const auto first_stage = [&](std::size_t i) {
    return std::ranges::min(orders.schedule.devices[i].actions, {}, &Action::stage).stage;
  };
  std::ranges::stable_sort(ranks, {}, first_stage);
  return ranks;
}

}  // namespace

GivenOrders parse_schedule_csv(std::string_view text, const std::string& file_name, const Plan& plan,
                               const Platform& platform) {
  const CsvText rows(text, file_name);
  refuse_plan(plan, {file_name, 0, 0, ""});
  return TableOrders(rows, plan, platform).orders();
}

std::string write_schedule_csv(const GivenOrders& orders, const Plan& plan) {
  refuse_plan(plan, {});
  if (const std::string what = unsaid(orders.schedule); !what.empty()) {
    throw InputError("a table of PyTorch cannot say " + what, {}, "a schedule file says such orders");
  }
  const bool keeps_idle = !orders.steps.empty() && !lists_transfers(orders.schedule.transfers);
  std::string text;
  for (const std::size_t rank : ranks_of(orders)) {
    text +=
        line_of(orders.schedule.devices[rank].actions, keeps_idle ? orders.steps[rank] : std::vector<std::uint32_t>{});
  }
  return text;
}

}  // namespace stagecraft
