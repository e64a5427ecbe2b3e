// The driver's libraries in this process, and calls into them.
#pragma once

#include <pthread.h>

#include <atomic>

#include "guard/inject/elf.hpp"

namespace tessera::guard {

// Counts the calls into the driver that this thread is in. A driver may call itself by its public
// names, and so reach our hooks: those are not calls of the program.
class InDriver {
  public:
    InDriver() { depth++; }
    ~InDriver() { depth--; }
    InDriver(const InDriver&) = delete;
    InDriver& operator=(const InDriver&) = delete;

    static bool is_now() { return depth > 0; }

  private:
    static inline thread_local int depth = 0;
};

template <typename Function>
class DriverFunction;

// One function of the driver; false if this driver has none of that name.
template <typename Result, typename... Arguments>
class DriverFunction<Result (*)(Arguments...)> {
  public:
    using Pointer = Result (*)(Arguments...);

    explicit operator bool() const { return function_ != nullptr; }
    Result operator()(Arguments... arguments) const {
        const InDriver scope;
        return function_(arguments...);
    }
    [[nodiscard]] void* address() const { return reinterpret_cast<void*>(function_); }
    void set(void* address) { function_ = reinterpret_cast<Pointer>(address); }

  private:
    Pointer function_ = nullptr;
};

// The library of that soname that defines `marker` (a facade has no code, so it does not). Loads it
// now if it is not loaded yet: a program that was linked against it may have found our functions
// before it.
LoadedObject load_library(const char* soname, const char* marker);
// Keeps the library loaded: we keep addresses in it.
void pin(const LoadedObject& library, const char* marker);

// `Functions` of one library, found once. Its member is_whole() says whether they are enough for
// the hooks.
template <typename Functions>
class Library {
  public:
    constexpr Library(const char* soname, const char* marker,
                      Functions (*read)(const LoadedObject&))
        : soname_(soname), marker_(marker), read_(read) {}

    // Null if there is none. Any thread.
    const Functions* get() {
        if (!is_found_.load(std::memory_order_acquire)) find();
        return found();
    }

    // The same, only if it was found before: does not call the loader.
    const Functions* found() const {
        return is_found_.load(std::memory_order_acquire) ? &found_ : nullptr;
    }

  private:
    // No lock of ours is held while the loader works: a library that is being loaded may call us
    // while it holds the loader's lock.
    void find() {
        const LoadedObject library = load_library(soname_, marker_);
        if (!library) return;
        const Functions functions = read_(library);
        if (!functions.is_whole()) return;
        pin(library, marker_);
        pthread_mutex_lock(&mutex_);
        if (!is_found_.load(std::memory_order_relaxed)) found_ = functions;
        is_found_.store(true, std::memory_order_release);
        pthread_mutex_unlock(&mutex_);
    }

    const char* soname_;
    const char* marker_;
    Functions (*read_)(const LoadedObject&);
    Functions found_ = {};
    std::atomic<bool> is_found_ = false;
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace tessera::guard
