#include "nanofmt.h"

#include <cstddef>
#include <stdexcept>

namespace nanofmt {

std::string format(std::string_view pattern, const std::vector<std::string>& arguments) {
  std::string text;
  std::size_t used = 0;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern.substr(at, 2) != "{}") {
      text += pattern[at];
      continue;
    }
    if (used == arguments.size()) {
      throw std::invalid_argument("nanofmt: more places than arguments");
    }
    text += arguments[used++];
    ++at;  // the closing brace
  }
  if (used != arguments.size()) {
    throw std::invalid_argument("nanofmt: more arguments than places");
  }
  return text;
}

}  // namespace nanofmt
