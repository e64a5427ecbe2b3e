// Where the guard stands in this container, and what it says where it cannot stand there.
#pragma once

#include <atomic>
#include <climits>
#include <cstddef>

namespace tessera::guard {

inline constexpr std::size_t kMaxPath = PATH_MAX;

// A file of the container's region: they stand beside this library. False where that has no place
// in the file system. Takes the loader's lock.
bool path_of(const char* name, char (&path)[kMaxPath]);

// Why there is no GPU for a process, as it is told: "PATH is missing", and what to do.
struct Fault {
    const char* what;
    const char* advice =
        "Restart the pod; if that does not help, see the agent's log on this node.";
};
inline constexpr Fault kNoPlace = {"has no place in the file system"};
inline constexpr Fault kOtherLayout = {"is of another version of the guard, or was written over"};
// Of a file that cannot be opened or mapped, by errno; `if_none` where that is 0.
Fault fault_of(int error, const Fault& if_none);

// One line on stderr, unless `has_complained`: a program may try again and again.
void complain(std::atomic<bool>& has_complained, const char* path, const Fault& fault);
void say_once(std::atomic<bool>& has_said, const char* line);

}  // namespace tessera::guard
