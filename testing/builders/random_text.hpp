// Random text for round-trip tests. Call it within a rapidcheck property.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

namespace tessera {

// At least one character. The pieces include characters that JSON must escape, and some that it
// must not.
inline std::string random_text() {
    static const std::vector<std::string> kPieces = {
        "a",    "Z",    "0", "-",  "/", ".", " ", "\"", "\\", "\n", "\t", "\r", "\b",    "\x01",
        "\x1f", "\x7f", "é", "語", "🂡", "{", "}", "[",  ",",  ":",  "<",  "&",  "\u2028"};
    std::string out = "x";
    for (const std::string& piece :
         *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kPieces))) {
        out += piece;
    }
    return out;
}

}  // namespace tessera
