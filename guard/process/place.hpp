// The path of the guard's library in this container, and the message if it cannot be used there.
#pragma once

#include <atomic>
#include <climits>
#include <cstddef>

namespace tessera::guard {

inline constexpr std::size_t kMaxPath = PATH_MAX;

// The path of a file of the container's region, which is beside this library. False if the library
// has no path in the file system. Takes the loader's lock.
bool path_of(const char* name, char (&path)[kMaxPath]);

// Why a process has no GPU, as the program's stderr shows it: "PATH is missing", and what to do.
struct Fault {
    const char* what;
    const char* advice =
        "Restart the pod; if that does not help, see the agent's log on this node.";
};
inline constexpr Fault kNoPlace = {"has no path in the file system"};
inline constexpr Fault kOtherLayout = {"is of another version of the guard, or was overwritten"};
// The fault of a file that cannot be opened or mapped, by errno; `if_none` if errno is 0.
Fault fault_of(int error, const Fault& if_none);

// Writes one line to stderr, unless `has_complained` is set: a program may retry many times.
void complain(std::atomic<bool>& has_complained, const char* path, const Fault& fault);
void say_once(std::atomic<bool>& has_said, const char* line);

}  // namespace tessera::guard
