#pragma once

#include "report/report.hpp"

namespace nf4bench::report {

// `report` without what tells whose machine it is of: the host's name, the folders of files, the
// address of the GPU. Of its UUID a hash is left, which tells boards apart.
record::Report anonymous(record::Report report);

}  // namespace nf4bench::report
