// Text that others wrote, for a terminal.
#pragma once

#include <algorithm>
#include <string>

namespace tessera {

// Characters other than those that ASCII prints, tabs and line ends become '?'.
inline std::string printable(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return (c < ' ' && c != '\n' && c != '\t') || c > '~'; }, '?');
    return text;
}

}  // namespace tessera
