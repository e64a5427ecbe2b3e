// A minimal loader for shared libraries that need only libc, as the simulated driver does. The
// dynamic loader takes no part, so nothing is preloaded, and no function of the library is hooked.
#pragma once

namespace tessera::attacks {

// The address of a function of libc; nullptr if there is none of that name.
using Import = void* (*)(const char* name);

// Maps the driver at `path`, and takes kTaken bytes of its first GPU. Returns an error message if
// the driver cannot be mapped, else nullptr.
const char* take_by_own_loader(const char* path, Import import);

}  // namespace tessera::attacks
