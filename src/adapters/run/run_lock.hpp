// Locks of files in the folder of the runs. The kernel drops a lock when the last process that has
// its open file has closed it or ended, however that process ended. So no lock outlives its owner.
#pragma once

#include <filesystem>

#include "adapters/run/owned_descriptor.hpp"
#include "base/result.hpp"

namespace tessera {

// A file that every user may lock; it is made if it does not exist. Errors: unavailable.
Result<OwnedDescriptor> open_lock_file(const std::filesystem::path& path);

// Locks it for one process at a time, and waits for that. unavailable after five minutes.
Result<> lock_exclusively(const OwnedDescriptor& file, const std::filesystem::path& path);
// The same without waiting: whether it is locked now.
bool try_lock(const OwnedDescriptor& file);

// Makes the lock file of a run and locks it. Processes inherit the descriptor, which has a high
// number because scripts choose low ones, and closes at exec. Errors: unavailable.
Result<OwnedDescriptor> make_run_lock(const std::filesystem::path& path);

// Whether a process has the lock of make_run_lock(). Changes nothing.
enum class RunLockState { locked, free, missing };
RunLockState run_lock_state(const std::filesystem::path& path);

}  // namespace tessera
