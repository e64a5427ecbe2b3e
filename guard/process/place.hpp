// Where the guard stands in this container, and what it says where it cannot stand there.
#pragma once

#include <atomic>
#include <cstddef>

namespace tessera::guard {

inline constexpr std::size_t kMaxPath = 4096;

// A file of the container's region: they stand beside this library. False where that has no place
// in the file system. Takes the loader's lock.
bool path_of(const char* name, char (&path)[kMaxPath]);

// One line on stderr, unless `has_complained`: a program may try again and again.
void complain(std::atomic<bool>& has_complained, const char* path, const char* what);
inline constexpr char kNoPlace[] = "has no place in the file system";
inline constexpr char kNotReadable[] = "may not be read by this user: its mode was changed";
inline constexpr char kNoLimits[] = "is missing, or of another version of the guard";

}  // namespace tessera::guard
