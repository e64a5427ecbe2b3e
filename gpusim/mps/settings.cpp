#include "gpusim/mps/settings.hpp"

#include <cstdio>
#include <cstdlib>

namespace gpusim::mps {

Change set_active_thread_percentage(Settings& settings, const char* text) {
    const double percentage = std::strtod(text, nullptr);
    const bool valid = percentage > 0 && percentage <= 100;  // false for "nan"
    if (valid) settings.active_thread_percentage = percentage;
    return valid ? Change::made : Change::invalid;
}

Change set_client_priority(Settings& settings, const char* text) {
    const long priority = std::strtol(text, nullptr, 10);
    if (priority != 0 && priority != 1) return Change::invalid;
    settings.client_priority = static_cast<int>(priority);
    return Change::made;
}

int parse_device(const char* text, int device_count) {
    char* end = nullptr;
    const long device = std::strtol(text, &end, 10);
    return *end == '\0' && device >= 0 && device < device_count ? static_cast<int>(device) : -1;
}

std::uint64_t parse_limit(const char* text) {
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(text, &end, 10);
    return value << (*end == 'G' || *end == 'g' ? 30 : 20);
}

LimitText limit_text(std::uint64_t bytes) {
    const bool gib = bytes >> 30 != 0;
    LimitText out;
    std::snprintf(out.text, sizeof out.text, "%llu%c",
                  static_cast<unsigned long long>(bytes >> (gib ? 30 : 20)), gib ? 'G' : 'M');
    return out;
}

Server* Servers::find(pid_t pid) {
    for (int i = 0; i < count; i++)
        if (list[i].pid == pid) return &list[i];
    return nullptr;
}

Server* Servers::find_of_user(uid_t uid) {
    for (int i = 0; i < count; i++)
        if (list[i].uid == uid) return &list[i];
    return nullptr;
}

Server* Servers::add(pid_t pid, uid_t uid, const Settings& defaults) {
    if (count == kMaxServers) return nullptr;
    Server& server = list[count++];
    server = {};
    server.pid = pid;
    server.uid = uid;
    server.settings = defaults;
    return &server;
}

void Servers::remove(pid_t pid) {
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (list[i].pid != pid) list[kept++] = list[i];
    count = kept;
}

}  // namespace gpusim::mps
