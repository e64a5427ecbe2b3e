#include "gpusim/mps/answer.hpp"

#include <cstdarg>
#include <cstdio>

namespace gpusim::mps {

void Answer::clear() {
    text[0] = '\0';
    size = 0;
}

void Answer::line(const char* format, ...) {
    // A line end and a NUL come on top.
    if (sizeof text - size < kMaxAnswerLine + 2) return;
    std::va_list values;
    va_start(values, format);
    const int length = std::vsnprintf(text + size, kMaxAnswerLine + 1, format, values);
    va_end(values);
    if (length < 0) return;
    const auto wanted = static_cast<std::size_t>(length);
    size += wanted < kMaxAnswerLine ? wanted : kMaxAnswerLine;
    text[size++] = '\n';
    text[size] = '\0';
}

}  // namespace gpusim::mps
