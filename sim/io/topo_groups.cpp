#include "sim/io/topo_groups.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <functional>
#include <string>

namespace stagecraft {
namespace {

bool is_below_switch(const TopoCell& cell) { return cell.path == TopoPath::Pix || cell.path == TopoPath::Pxb; }

bool is_behind_bridge(const TopoCell& cell) {
  return cell.path == TopoPath::Phb || cell.path == TopoPath::Node || cell.path == TopoPath::Sys;
}

using OfPair = std::function<bool(std::size_t, std::size_t)>;

/// The finest groups that have both GPUs of each pair `together`.
TopoGroups groups_with(std::size_t gpus, const OfPair& together) {
  TopoGroups groups(gpus);
  for (std::size_t i = 0; i < gpus; ++i) groups[i] = static_cast<std::uint32_t>(i);
  for (std::size_t i = 0; i < gpus; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (groups[i] == groups[j] || !together(i, j)) continue;
      const auto [kept, joined] = std::minmax({groups[i], groups[j]});
      std::ranges::replace(groups, joined, kept);
    }
  }
  TopoGroups firsts;
  for (std::uint32_t& group : groups) {
    const auto found = std::ranges::find(firsts, group);
    const auto number = static_cast<std::uint32_t>(found - firsts.begin());
    if (found == firsts.end()) firsts.push_back(group);
    group = number;
  }
  return groups;
}

void refuse_apart(const TopoMatrix& matrix, const TopoGroups& groups, const OfPair& apart,
                  const std::string& expected) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (groups[i] != groups[j] || !apart(i, j)) continue;
      const TopoCell& cell = matrix.gpu_gpu[i][j];
      throw InputError("expected " + expected + ", as other entries imply, found " + quote(cell.text), cell.place,
                       "paths of three GPUs contradict each other");
    }
  }
}

bool share_nic_below_switch(const TopoMatrix& matrix, std::size_t a, std::size_t b) {
  for (std::size_t nic = 0; nic < matrix.nics.size(); ++nic) {
    if (is_below_switch(matrix.gpu_nic[a][nic]) && is_below_switch(matrix.gpu_nic[b][nic])) return true;
  }
  return false;
}

TopoPath nearest_path(const std::vector<TopoCell>& nics) {
  return std::ranges::min_element(nics, {}, &TopoCell::path)->path;
}

std::vector<std::size_t> nics_at(const std::vector<TopoCell>& nics, TopoPath path) {
  std::vector<std::size_t> numbers;
  for (std::size_t nic = 0; nic < nics.size(); ++nic) {
    if (nics[nic].path == path) numbers.push_back(nic);
  }
  return numbers;
}

InputError uneven_nics(const TopoMatrix& matrix, const TopoNics& expected, std::size_t gpu,
                       const std::vector<std::size_t>& nics) {
  const TopoCell& cell = matrix.gpu_nic[gpu][nics.front()];
  return InputError("expected that every " + counted(expected.gpus, "GPU") + " in a row have " +
                        counted(expected.nics, "NIC") + " of their own nearest to them, as " + matrix.gpus.front() +
                        " has, found " + counted(nics.size(), "NIC") + " at the distance " + cell.text,
                    cell.place, "take out the rows and columns of NICs that training does not use");
}

}  // namespace

TopoGroups pcie_switches(const TopoMatrix& matrix) {
  const TopoGroups groups = groups_with(matrix.gpus.size(), [&](std::size_t i, std::size_t j) {
    const TopoCell& cell = matrix.gpu_gpu[i][j];
    return is_below_switch(cell) || (cell.path == TopoPath::NvLink && share_nic_below_switch(matrix, i, j));
  });
  const auto apart = [&](std::size_t i, std::size_t j) { return is_behind_bridge(matrix.gpu_gpu[i][j]); };
  refuse_apart(matrix, groups, apart, "PIX or PXB");
  return groups;
}

TopoGroups numa_nodes(const TopoMatrix& matrix) {
  const TopoGroups groups = groups_with(matrix.gpus.size(), [&](std::size_t i, std::size_t j) {
    const TopoPath path = matrix.gpu_gpu[i][j].path;
    if (path != TopoPath::NvLink) return path != TopoPath::Sys;
    return !matrix.cpus[i].empty() && matrix.cpus[i] == matrix.cpus[j];
  });
  const auto apart = [&](std::size_t i, std::size_t j) { return matrix.gpu_gpu[i][j].path == TopoPath::Sys; };
  refuse_apart(matrix, groups, apart, "a path within a NUMA node");
  return groups;
}

std::optional<std::uint32_t> regular_size(const TopoGroups& groups) {
  const auto size = static_cast<std::uint32_t>(std::ranges::count(groups, 0U));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] != i / size) return std::nullopt;
  }
  return size;
}

std::vector<std::vector<std::size_t>> nearest_nics(const TopoMatrix& matrix) {
  std::vector<std::vector<std::size_t>> sets;
  for (const auto& nics : matrix.gpu_nic) sets.push_back(nics_at(nics, nearest_path(nics)));
  return sets;
}

std::variant<TopoNics, InputError> regular_nics(const TopoMatrix& matrix) {
  TopoNics result;
  const std::vector<std::vector<std::size_t>> sets = nearest_nics(matrix);
  result.path = nearest_path(matrix.gpu_nic.front());
  result.nics = static_cast<std::uint32_t>(sets.front().size());
  result.gpus = static_cast<std::uint32_t>(std::ranges::count(sets, sets.front()));
  std::vector<bool> is_used(matrix.nics.size());
  const auto is_taken = [&](std::size_t nic) { return is_used[nic]; };
  for (std::size_t gpu = 0; gpu < sets.size(); ++gpu) {
    const std::size_t first = gpu - gpu % result.gpus;
    const bool is_whole = first + result.gpus <= sets.size() && sets[gpu].size() == result.nics;
    const bool is_alike = gpu == first ? std::ranges::none_of(sets[gpu], is_taken) : sets[gpu] == sets[first];
    if (!is_whole || !is_alike) return uneven_nics(matrix, result, gpu, sets[gpu]);
    for (const std::size_t nic : sets[gpu]) is_used[nic] = true;
  }
  for (std::size_t nic = 0; nic < is_used.size(); ++nic) {
    if (!is_used[nic]) result.unused.push_back(nic);
  }
  return result;
}

}  // namespace stagecraft
