// What the MPS control daemon remembers: default limits, and the servers with limits of their own.
// Pure state. The formats are those of the vendor's programs of drivers 535 and 550, as seen.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "gpusim/mps/wire.hpp"

namespace gpusim::mps {

inline constexpr int kMaxServers = 64;

struct Settings {
    // A double as in the vendor's program: 25.55 is shown as 25.6, and 0.04, which is allowed, as
    // 0.0.
    double active_thread_percentage = 100;
    int client_priority = 0;                             // 0 or 1
    std::uint64_t pinned_limit_bytes[kMaxDevices] = {};  // 0: no limit
};

enum class Change { made, invalid };

// A number from 0 (excluded) to 100. Text after the number is ignored.
Change set_active_thread_percentage(Settings& settings, const char* text);

// 0 or 1. Text that is no number counts as 0.
Change set_client_priority(Settings& settings, const char* text);

// The ordinal of a GPU below `device_count`, or -1. No text is GPU 0; the UUID form names none.
int parse_device(const char* text, int device_count);

// Bytes of "2G" or "512M"; any other suffix means MiB, and no number means 0.
std::uint64_t parse_limit(const char* text);

// Whole GiB or MiB, rounded down, as in "2G" or "512M".
struct LimitText {
    char text[24];
};
LimitText limit_text(std::uint64_t bytes);

struct Server {
    pid_t pid = 0;
    uid_t uid = 0;
    bool ready = false;
    bool has_fault = false;      // until the clients that it ended have left
    bool is_ending = false;      // it ends, or it will when its clients have left
    std::uint64_t state_id = 0;  // of its ServerReady; known when it is ready, as the next three
    std::uint64_t number = 0;
    ServerGpus gpus;
    int device_count = 0;
    Settings settings;  // a copy of the defaults when it started
};

struct Servers {
    Server list[kMaxServers];
    int count = 0;

    // Null if there is none, or for add() if there are kMaxServers. Removing invalidates pointers.
    Server* find(pid_t pid);
    Server* find_of_user(uid_t uid);
    Server* add(pid_t pid, uid_t uid, const Settings& defaults);
    void remove(pid_t pid);
};

}  // namespace gpusim::mps
