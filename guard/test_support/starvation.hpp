// Time in which the machine kept programs from running. It limits how much GPU time they may lose
// without a fault of the guard.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace tessera::guard {

// How long the threads of a process were ready to run but had no core. Source:
// /proc/PID/task/TID/schedstat.
inline std::int64_t starved_ns(pid_t pid) {
    std::int64_t sum = 0;
    std::error_code gone;
    const auto tasks = "/proc/" + std::to_string(pid) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
        std::ifstream file(task.path() / "schedstat");
        std::int64_t ran = 0;
        std::int64_t waited = 0;
        if (file >> ran >> waited) sum += waited;
    }
    return sum;
}

// Time of the machine's cores together that went to another virtual machine. No schedstat contains
// it.
inline std::int64_t stolen_ns() {
    std::ifstream file("/proc/stat");
    std::string name;
    std::int64_t of[8] = {};
    file >> name;
    for (std::int64_t& each : of)
        file >> each;
    return of[7] * (1'000'000'000 / sysconf(_SC_CLK_TCK));
}

}  // namespace tessera::guard
