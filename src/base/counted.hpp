// Counts in words: "1 pod", "2 pods".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera {

// For a noun whose plural ends in s.
inline std::string counted(std::size_t count, std::string_view noun) {
    return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace tessera
