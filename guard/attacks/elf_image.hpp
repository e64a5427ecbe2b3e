// A loader of shared libraries of its own: enough for one that needs libc alone, as the driver
// here. No dynamic loader takes part, so nothing is preloaded, and no function of the library is
// hooked.
#pragma once

namespace tessera::attacks {

// The address of a function of libc; nullptr where there is none.
using Import = void* (*)(const char* name);

// Maps the driver at `path`, and takes kTaken bytes of its first GPU. A message where it cannot be
// mapped, else nullptr.
const char* take_by_own_loader(const char* path, Import import);

}  // namespace tessera::attacks
