// State of libcuda.so.1 in one process: the devices it shows, contexts, and the slot that accounts
// for what it takes.
//
// Thread rule: the driver's mutex protects everything here, and a Session holds it. A process that
// was forked from one in which cuInit had succeeded has no driver, as with the real one: no Session
// succeeds in it, and nothing that its parent holds is touched.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "api/nvidia/cuda.h"
#include "gpusim/cuda/driver/mps_client.hpp"
#include "gpusim/state/state.hpp"
#include "gpusim/state/visible.hpp"

namespace gpusim {

struct Block;
struct Context;
struct Module;
struct Range;
struct Stream;

inline constexpr int kLimits = 3;  // the limits by which a context may grow

// A CUcontext points to one. Never freed, so that no stale handle can become a valid one again.
struct Context {
    CUdevice device;
    int gpu;  // index into GpusFile::gpus
    bool alive;
    unsigned flags;
    unsigned api_version;
    CUresult error;  // of its work: every call in it returns this from then on
    Range* ranges;   // ranges that end with it (address_book.hpp)
    Block* chunks;   // for its small allocations (blocks.hpp)
    Stream* streams;
    Module* modules;
    unsigned uses;                // how many calls of cuCtxDetach end it
    Context* home;                // for a green context: the primary one, whose memory it uses
    std::size_t limits[kLimits];  // by CUlimit; 0: initial value (context_limits.hpp)
    std::uint64_t limit_bytes[kLimits];  // what the GPU has given for each
    std::uint32_t mps_context;           // its number among those of this client of MPS
    Context* next;                       // in Driver::contexts
};

struct PrimaryContext {
    Context context;
    unsigned retained;
};

struct Driver {
    pthread_mutex_t mutex;
    std::atomic<pid_t> owner;  // the process in which cuInit succeeded; 0 before
    State state;
    GpuList devices;  // by CUdevice: the GPU
    int slot;
    PrimaryContext primary[kMaxGpus];  // by CUdevice
    Context* contexts;                 // made by cuCtxCreate, dead ones included
    MpsClient mps;
};

extern constinit Driver driver;

// Holds the driver's mutex while it exists, unless error() says that there is no driver.
class Session {
  public:
    Session();
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // CUDA_SUCCESS, or CUDA_ERROR_NOT_INITIALIZED before cuInit and in a forked child.
    CUresult error() const { return error_; }

  private:
    CUresult error_;
};

// The functions below require a Session.

Gpu& gpu_of(const Context& context);
// The context that owns the memory: for a green context its device's primary one, for others the
// context itself.
inline Context& home_of(Context& context) {
    return context.home != nullptr ? *context.home : context;
}
bool is_device(CUdevice device);
bool is_lost(int gpu);

// The context that is current on this thread. CUDA_ERROR_INVALID_CONTEXT when none is,
// CUDA_ERROR_CONTEXT_IS_DESTROYED when it was destroyed, CUDA_ERROR_UNKNOWN when its GPU is lost,
// and the error of its work.
CUresult current_context(Context** context);

// The device that shows the GPU in this process, -1 if none does.
CUdevice device_of(int gpu);

}  // namespace gpusim
