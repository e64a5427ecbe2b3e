// Removes the byte order mark that some editors and spreadsheets put before UTF-8 text.
#pragma once

#include <string_view>

namespace tessera {

constexpr std::string_view without_byte_order_mark(std::string_view text) {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
    return text;
}

}  // namespace tessera
