// The flags of Arena's first versions, such as --servingName.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tessera {

// The words of a command line. Those of `tessera serve` have today's
// flags in place of older ones, up to a "--"; `warn` is called for each, with a text that names
// both.
std::vector<std::string> with_newer_flags(std::vector<std::string> words,
                                          const std::function<void(const std::string&)>& warn);

}  // namespace tessera
