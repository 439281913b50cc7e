#pragma once

#include <string>
#include <vector>

namespace nf4bench::text {

// Rows of text as aligned columns, two spaces apart, the first row being the headings. The last
// column is not padded and is cut to what is left of `width` unless `width` is 0.
std::string align_columns(const std::vector<std::vector<std::string>>& rows, int width);

}  // namespace nf4bench::text
