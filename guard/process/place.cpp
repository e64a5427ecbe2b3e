#include "guard/process/place.hpp"

#include <dlfcn.h>
#include <errno.h>
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

Fault fault_of(int error, const Fault& if_none) {
    switch (error) {
        case 0:
            return if_none;
        case ENOENT:
            return {"is missing"};
        case EACCES:
        case EPERM:
            return {"may not be opened by this user: its mode was changed"};
        case EROFS:
            return {"is on a file system that is mounted read-only"};
        case EMFILE:
        case ENFILE:
            return {"cannot be opened: the process has no file descriptor left",
                    "Raise ulimit -n."};
        case ENOMEM:
            return {"does not fit in this process's address space", "Raise ulimit -v."};
        default:
            return {"cannot be opened"};
    }
}

void complain(std::atomic<bool>& has_complained, const char* path, const Fault& fault) {
    char line[kMaxPath + 300];
    const int length =
        std::snprintf(line, sizeof line, "tessera-guard: no GPU for this process: %s %s. %s\n",
                      path, fault.what, fault.advice);
    if (length > 0) say_once(has_complained, line);
}

void say_once(std::atomic<bool>& has_said, const char* line) {
    if (has_said.exchange(true)) return;
    const Uncancelled uncancelled;
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, std::strlen(line));
}

}  // namespace tessera::guard
