#include "adapters/os/process_facts.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tessera {
namespace {

std::chrono::nanoseconds of(const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

// proc(5): field 22 of /proc/self/stat, in ticks since boot. The second field is the program's
// name. It may contain any characters and ends at the last parenthesis.
std::int64_t started_s() {
    std::ifstream in("/proc/self/stat");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::size_t name_ends = text.rfind(')');
    if (name_ends == std::string::npos) return 0;
    std::istringstream fields(text.substr(name_ends + 1));
    std::string field;
    for (int i = 3; i <= 22; ++i)
        fields >> field;
    std::int64_t booted = 0;
    std::ifstream stat("/proc/stat");
    for (std::string word; stat >> word;) {
        if (word == "btime") stat >> booted;
    }
    const std::int64_t ticks = std::atoll(field.c_str());
    return booted == 0 ? 0 : booted + ticks / ::sysconf(_SC_CLK_TCK);
}

}  // namespace

ProcessFacts read_process_facts(const std::string& program) {
    ProcessFacts out{.program = program, .started_s = started_s()};
    std::ifstream memory("/proc/self/statm");
    std::int64_t pages = 0;
    if (memory >> pages >> pages) out.resident = Bytes{pages * ::sysconf(_SC_PAGESIZE)};
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) == 0) out.cpu = of(usage.ru_utime) + of(usage.ru_stime);
    std::error_code gone;
    for (auto at = std::filesystem::directory_iterator("/proc/self/fd", gone);
         !gone && at != std::filesystem::directory_iterator(); at.increment(gone))
        ++out.open_files;
    return out;
}

}  // namespace tessera
