#include "gpusim/mps/log.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <ctime>

#include "gpusim/mps/answer.hpp"

namespace gpusim::mps {

void Log::line(const char* format, ...) const {
    if (fd < 0) return;
    static Answer text;  // a program of MPS has one thread
    text.clear();
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    tm date = {};
    localtime_r(&now.tv_sec, &date);
    char time[32];
    std::strftime(time, sizeof time, "%Y-%m-%d %H:%M:%S", &date);
    std::va_list values;
    va_start(values, format);
    static char message[kMaxAnswerLine];
    std::vsnprintf(message, sizeof message, format, values);
    va_end(values);
    text.line("[%s.%03ld %s %5d] %s", time, now.tv_nsec / 1000000, program, getpid(), message);
    // A log that cannot be written must not stop the daemon.
    if (write(fd, text.text, text.size) < 0) return;
}

}  // namespace gpusim::mps
