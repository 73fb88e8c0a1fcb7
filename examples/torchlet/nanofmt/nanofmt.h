#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nanofmt {

// Replaces each "{}" in the pattern by the next argument.
// Throws std::invalid_argument when there are more or fewer arguments than places.
std::string format(std::string_view pattern, const std::vector<std::string>& arguments);

}  // namespace nanofmt
