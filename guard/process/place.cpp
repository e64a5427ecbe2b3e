#include "guard/process/place.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "guard/inject/libc_floor.hpp"
#include "guard/region/uncancelled.hpp"

namespace tessera::guard {

bool path_of(const char* name, char (&path)[kMaxPath]) {
    static const char us = 0;
    Dl_info about = {};
    if (dladdr == nullptr || dladdr(&us, &about) == 0 || about.dli_fname == nullptr) return false;
    const char* slash = std::strrchr(about.dli_fname, '/');
    const int directory = slash != nullptr ? static_cast<int>(slash - about.dli_fname) + 1 : 0;
    const int length = std::snprintf(path, sizeof path, "%.*s%s", directory, about.dli_fname, name);
    return length > 0 && length < static_cast<int>(sizeof path);
}

void complain(std::atomic<bool>& has_complained, const char* path, const char* what) {
    if (has_complained.exchange(true)) return;
    char line[kMaxPath + 200];
    const int length =
        std::snprintf(line, sizeof line,
                      "tessera-guard: no GPU for this process: %s %s. Restart the pod; if that "
                      "does not help, see the agent's log on this node.\n",
                      path, what);
    if (length <= 0) return;
    const Uncancelled uncancelled;
    [[maybe_unused]] const ssize_t written =
        write(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

}  // namespace tessera::guard
