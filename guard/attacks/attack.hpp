// What the attacks of attacks.def have in common. Each is a function of the same name, in the file
// for its kind.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "api/nvidia/cuda.h"
#include "guard/attacks/symbols.hpp"

namespace tessera::attacks {

#define ATTACK(name, ...) void name();
#define POD_ATTACK(name, ...) void name();
#include "guard/attacks/attacks.def"
#undef POD_ATTACK
#undef ATTACK

inline constexpr std::size_t kMiB = std::size_t{1} << 20;
inline constexpr std::size_t kTaken = 2048 * kMiB;
inline constexpr std::size_t kStep = 512 * kMiB;

// The handle of the driver.
extern void* library;

template <typename Function>
Function by_name(const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));
}
#define CUDA(symbol) by_name<decltype(&::symbol)>(#symbol)

// Ends an attack that cannot begin, with exit status 3.
[[noreturn]] void give_up(const char* why);
// Loads the driver.
void load(const char* path = "libcuda.so.1");
// Creates a context, which becomes the current one.
void enter();
// load() and enter().
void begin();
// Reports that the attack is over, and keeps what it took until the input ends.
[[noreturn]] void done_and_wait();

using Alloc = decltype(&cuMemAlloc_v2);
Alloc as_alloc(void* function);
// Tries to allocate `bytes` bytes in steps of kStep, and goes on after a failure.
void take(Alloc alloc, std::size_t bytes = kTaken);
// The driver's own function, which the guard does not see.
Alloc unguarded_alloc();

CUmemoryPool make_pool(CUmemLocation location, CUmemAllocationType type);
void take_from(CUmemoryPool pool);
// Allocates kStep bytes of physical memory; 0 if that fails.
CUmemGenericAllocationHandle create(CUmemLocationType type, CUmemAllocationHandleType exported);

const link_map* map_of(void* handle);
// The driver's file. Call load() first.
std::string driver_path();
// The path of a file that is built beside this program.
std::string beside(const char* name);
// A path for a file of this process, in TMPDIR. The attack may not live to remove the file.
std::string temporary(const char* name);
// Executes this program again, for another attack. Returns only on failure.
void execute_self(const char* attack, char* const* environment);

// A part of this process's memory in /proc/self/maps; empty if it is not found.
struct Part {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::string path;
};
Part find_part(const char* name, const char* mode);

}  // namespace tessera::attacks
