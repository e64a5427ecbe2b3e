// What libcuda.so.1 knows in one process: the devices it shows, contexts, allocations, and the slot
// in which it accounts for them.
//
// Thread rule: everything here is guarded by the driver's mutex, which a Session holds. A process
// that was forked from one that had called cuInit has no driver, as with the real one: no Session
// succeeds in it, and nothing that its parent holds is touched.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "api/nvidia/cuda.h"
#include "gpusim/state/state.hpp"
#include "gpusim/state/visible.hpp"

namespace gpusim {

struct Context;
struct Module;
struct Stream;

struct Allocation {
    CUdeviceptr base;
    std::size_t bytes;         // as asked for
    std::size_t mapped_bytes;  // whole granules: what the card gives up
    Context* context;
    Allocation* next;  // of the same context
    Allocation* previous;
};

// A CUcontext points to one. Never freed, so that no stale handle can become a valid one again.
struct Context {
    CUdevice device;
    int card;  // index into CardsFile::cards
    bool alive;
    unsigned flags;
    unsigned api_version;
    CUresult error;  // of its work: every call in it answers this from then on
    Allocation* allocations;
    Stream* streams;
    Module* modules;
    Context* next;  // in Driver::contexts
};

struct PrimaryContext {
    Context context;
    unsigned retained;
};

struct Driver {
    pthread_mutex_t mutex;
    std::atomic<pid_t> owner;  // the process that cuInit succeeded in; 0 before
    State state;
    CardList devices;  // CUdevice -> card
    int slot;
    PrimaryContext primary[kMaxCards];  // by CUdevice
    Context* contexts;                  // those of cuCtxCreate, dead ones included
    void* allocations;                  // tsearch tree by address
};

extern constinit Driver driver;

// Holds the driver's mutex while it lives, unless error() says that there is no driver to hold.
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

// The functions below want a Session.

Card& card_of(const Context& context);
bool is_device(CUdevice device);
bool is_lost(int card);

// Adds `bytes` and `contexts` to what this process holds of the card, if the card has that much
// left. CUDA_ERROR_OUT_OF_MEMORY if not; CUDA_ERROR_DEVICE_UNAVAILABLE when the node has no slot
// left.
CUresult charge(int card, std::uint64_t bytes, unsigned contexts);
void discharge(int card, std::uint64_t bytes, unsigned contexts);

// The context that is current on this thread. CUDA_ERROR_INVALID_CONTEXT when none is,
// CUDA_ERROR_CONTEXT_IS_DESTROYED when it was destroyed, CUDA_ERROR_UNKNOWN when its card is lost,
// and the error of its work.
CUresult current_context(Context** context);

void free_all(Context& context);

}  // namespace gpusim
