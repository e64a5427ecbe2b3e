// What the attacks of attacks.def have in common. Each is a function of its own name, in the file
// of its kind.
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

// An attack that cannot begin ends with this status.
[[noreturn]] void give_up(const char* why);
// Loads the driver.
void load(const char* path = "libcuda.so.1");
// Makes a context, the current one.
void enter();
// Both.
void begin();
// Says that all was tried, and keeps what it got until the input ends.
[[noreturn]] void done_and_wait();

using Alloc = decltype(&cuMemAlloc_v2);
Alloc as_alloc(void* function);
// kTaken bytes, in steps; after a failure too.
void take(Alloc alloc, std::size_t bytes = kTaken);
// The driver's own, which the guard does not see.
Alloc unguarded_alloc();

CUmemoryPool make_pool(CUmemLocation location, CUmemAllocationType type);
void take_from(CUmemoryPool pool);
// kStep bytes of physical memory; 0 where there are none.
CUmemGenericAllocationHandle create(CUmemLocationType type, CUmemAllocationHandleType exported);

const link_map* map_of(void* handle);
// The driver's file. load() comes first.
std::string driver_path();
// A file that is built beside this program.
std::string beside(const char* name);
// This program again, for another attack. Returns where it cannot.
void execute_self(const char* attack, char* const* environment);

// A part of this process's memory, as the kernel tells it; empty where there is none.
struct Part {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::string path;
};
Part find_part(const char* name, const char* mode);

}  // namespace tessera::attacks
