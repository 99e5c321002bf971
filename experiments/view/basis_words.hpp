#pragma once

#include "experiments/run/basis.hpp"
#include "sim/model/detail.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// `{"times": {"computed": 0.62}, "links": {"published": 0.38}}`.
[[nodiscard]] Detail::Record basis_record(const Basis& basis);
/// The basis that such a record tells.
[[nodiscard]] Basis basis_of_record(const Detail::Record& record);

/// The mean share of each input and origin over several runs.
[[nodiscard]] Basis mean_basis(const std::vector<Basis>& runs);
/// The shares of the origins, whatever their input: `published 40.1 %, computed 57.0 %, assumed 2.9 %`; empty without
/// shares.
[[nodiscard]] std::string origins_text(const Basis& basis);

/// The least and the largest share of each input and origin over several runs.
using BasisRanges = std::map<Basis::key_type, std::pair<double, double>>;
[[nodiscard]] BasisRanges ranges_of(const std::vector<Basis>& runs);
/// `{"times": {"computed": [0.62, 0.71]}, "links": {"published": [0.29, 0.38]}}`.
[[nodiscard]] Detail::Record ranges_record(const BasisRanges& ranges);

/// `Inputs behind these times: layer times computed (62 to 71 %), links published (29 to 38 %)`: of the time in which
/// devices are not idle, without an end of the line; empty without ranges.
[[nodiscard]] std::string basis_text(const BasisRanges& ranges);

}  // namespace stagecraft
