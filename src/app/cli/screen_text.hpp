// Text for a screen that is drawn again and again.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// The text for a screen of this size: lines that are too long, and lines that are too many, are cut
// off, and the last line says how many are missing. It draws over what is there, from the top. A
// size of 0 has no limit. Escape sequences are those of ECMA-48, which every terminal knows.
std::string screen_text(std::string_view text, int columns, int rows);

}  // namespace tessera
