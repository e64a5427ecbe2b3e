// The text of one answer: lines of any bytes but NUL.
#pragma once

#include <cstddef>

namespace gpusim::mps {

// The longest command, in bytes with the line end. The front end cuts longer lines into commands.
inline constexpr std::size_t kMaxCommand = 4095;
// The rest of a longer line of an answer is dropped. All answers of a command are far below
// kMaxAnswer; text beyond it is dropped.
inline constexpr std::size_t kMaxAnswerLine = 4096;
inline constexpr std::size_t kMaxAnswer = 4 * kMaxAnswerLine;

struct Answer {
    char text[kMaxAnswer] = {};
    std::size_t size = 0;

    void clear();
    // Appends a formatted line and a line end.
    [[gnu::format(printf, 2, 3)]] void line(const char* format, ...);
};

}  // namespace gpusim::mps
