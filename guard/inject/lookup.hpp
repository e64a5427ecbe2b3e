// From a function of the driver's to the guard's own.
#pragma once

namespace tessera::guard {

// The guard's function that stands before this one of the driver's; the same where none does.
void* hook_before(void* function);
// The guard's function of that symbol; null where it hooks none of that name.
void* hook_named(const char* symbol);

}  // namespace tessera::guard
