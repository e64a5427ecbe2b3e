// Texts by name: annotations, labels, amounts of resources.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace tessera {

using StringMap = std::map<std::string, std::string, std::less<>>;

}  // namespace tessera
