// Kernels, and how much of an engine's time a launch takes.
//
// A module is PTX text. Of that only the names of its kernels and the sizes of its variables are
// read, and what comments say to us; a real driver compiles the same text. A comment gives the time
// that a block takes, as a number or as the first parameter (an unsigned 64-bit number):
//     //gpusim spin block_ns=param0
//     .visible .entry spin(.param .u64 nanoseconds) { ... }
//     .visible .global .align 8 .b8 table[4096];
// Without one a block takes kDefaultBlockNs.
//
// A multiprocessor runs as many blocks at once as have threads for; the card as many as all
// its multiprocessors. What does not fit comes in further waves.
#pragma once

#include "gpusim/cuda/work/work.hpp"

namespace gpusim {

inline constexpr unsigned kMultiprocessors = 40;
inline constexpr unsigned kThreadsPerMultiprocessor = 1024;
inline constexpr unsigned kMaxThreadsPerBlock = 1024;
inline constexpr std::uint64_t kDefaultBlockNs = 5000;

struct Launch {
    CUfunction function = nullptr;
    unsigned grid[3] = {1, 1, 1};
    unsigned block[3] = {1, 1, 1};
    bool is_cooperative = false;  // all of its blocks are to run at once
    void** parameters = nullptr;
    void** extra = nullptr;
};

// What the calls of CUDA 2 have said of a function's next launches.
struct Shape {
    unsigned block[3];
    unsigned char parameters[4096];
    std::size_t parameter_bytes;
};
// Null for a handle that is none. Wants a Session.
Shape* shape_of(CUfunction function);

// The operation that a launch is in the current context. Wants a Session.
CUresult operation_of(const Launch& launch, Operation** operation);
// Of each block so large, how many a multiprocessor runs at once.
unsigned blocks_at_once(unsigned threads_per_block);
// Gives back the modules of a context and their variables. Wants a Session.
void unload_all(Context& context);

}  // namespace gpusim
