// What libcuda.so.1 knows in one process: the devices it shows, contexts, and the slot in which it
// accounts for what it takes.
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

struct Block;
struct Context;
struct Module;
struct Range;
struct Stream;

inline constexpr int kLimits = 3;  // those by which a context may grow

// A CUcontext points to one. Never freed, so that no stale handle can become a valid one again.
struct Context {
    CUdevice device;
    int card;  // index into CardsFile::cards
    bool alive;
    unsigned flags;
    unsigned api_version;
    CUresult error;  // of its work: every call in it answers this from then on
    Range* ranges;   // what dies with it (address_book.hpp)
    Block* chunks;   // where its small allocations are (blocks.hpp)
    Stream* streams;
    Module* modules;
    unsigned uses;                       // what cuCtxDetach has to take off to end it
    Context* home;                       // of a green context: the primary one, whose memory it has
    std::size_t limits[kLimits];         // by CUlimit; 0: as it began (context_limits.hpp)
    std::uint64_t limit_bytes[kLimits];  // what the card has given for each
    Context* next;                       // in Driver::contexts
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
// The context that has the memory: of a green one its device's primary, of others they themselves.
inline Context& home_of(Context& context) {
    return context.home != nullptr ? *context.home : context;
}
bool is_device(CUdevice device);
bool is_lost(int card);

// The context that is current on this thread. CUDA_ERROR_INVALID_CONTEXT when none is,
// CUDA_ERROR_CONTEXT_IS_DESTROYED when it was destroyed, CUDA_ERROR_UNKNOWN when its card is lost,
// and the error of its work.
CUresult current_context(Context** context);

// The device that shows the card in this process, -1 when none does.
CUdevice device_of(int card);

}  // namespace gpusim
