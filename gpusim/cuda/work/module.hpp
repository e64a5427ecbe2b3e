// Kernels, and how much of an engine's time a launch takes.
//
// A module is PTX text. Only the names of its kernels, the sizes of its variables and comments for
// the simulator are read; a real driver compiles the same text. A comment gives the time that a
// block takes, as a number or as the first parameter (an unsigned 64-bit number):
//     //gpusim spin block_ns=param0
//     //gpusim-marks spin param1
//     .visible .entry spin(.param .u64 nanoseconds) { ... }
//     .visible .global .align 8 .b8 table[4096];
// Without one a block takes kDefaultBlockNs. The second comment says that each block writes a 1, as
// 32 bits, to the place of its multiprocessor in the array to which the second parameter points.
//
// A multiprocessor runs as many blocks at once as it has threads for; the GPU as many as all its
// multiprocessors, and a client of MPS as many as its part of them. The remaining blocks run in
// further waves.
#pragma once

#include "gpusim/cuda/work/work.hpp"

namespace gpusim {

inline constexpr unsigned kThreadsPerMultiprocessor = 1024;
inline constexpr unsigned kMaxThreadsPerBlock = 1024;
inline constexpr std::uint64_t kDefaultBlockNs = 5000;

struct Launch {
    CUfunction function = nullptr;
    unsigned grid[3] = {1, 1, 1};
    unsigned block[3] = {1, 1, 1};
    bool is_cooperative = false;  // all of its blocks must run at once
    void** parameters = nullptr;
    void** extra = nullptr;
};

// What the calls of CUDA 2 have set for a function's next launches.
struct Shape {
    unsigned block[3];
    unsigned char parameters[4096];
    std::size_t parameter_bytes;
};
// Null for an invalid handle. Requires a Session.
Shape* shape_of(CUfunction function);

// The operation of a launch in the current context. Requires a Session.
CUresult operation_of(const Launch& launch, Operation** operation);
// How many blocks of this size a multiprocessor runs at once.
unsigned blocks_at_once(unsigned threads_per_block);
// Releases the modules of a context and their variables. Requires a Session.
void unload_all(Context& context);

}  // namespace gpusim
