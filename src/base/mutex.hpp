// A mutex that clang's thread-safety analysis knows (`./dev check clang`). It reports each use of a
// member outside the lock that its declaration names. Other compilers see no attribute.
#pragma once

#include <mutex>

#if defined(__clang__)
#define TESSERA_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define TESSERA_THREAD_ATTRIBUTE(x)
#endif

// Of a member: read and written only while the mutex is locked.
#define TESSERA_GUARDED_BY(mutex) TESSERA_THREAD_ATTRIBUTE(guarded_by(mutex))
// Of a pointer: what it points to is used only while the mutex is locked.
#define TESSERA_PT_GUARDED_BY(mutex) TESSERA_THREAD_ATTRIBUTE(pt_guarded_by(mutex))
// Of a mutex: if both are needed, it is locked before the other.
#define TESSERA_ACQUIRED_BEFORE(...) TESSERA_THREAD_ATTRIBUTE(acquired_before(__VA_ARGS__))
// Of a function or a lambda: the caller has locked the mutex.
#define TESSERA_REQUIRES(...) TESSERA_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
// Of a function: the caller has not locked the mutex.
#define TESSERA_EXCLUDES(...) TESSERA_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
// Of a function that locks or unlocks.
#define TESSERA_ACQUIRE(...) TESSERA_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define TESSERA_RELEASE(...) TESSERA_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
// Of a function whose locks the analysis cannot follow. A comment there says why they are right.
#define TESSERA_NO_THREAD_SAFETY_ANALYSIS TESSERA_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace tessera {

class TESSERA_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
  public:
    void lock() TESSERA_ACQUIRE() { mutex_.lock(); }
    void unlock() TESSERA_RELEASE() { mutex_.unlock(); }

  private:
    std::mutex mutex_;
};

// Locks the mutex while it is in scope. A std::condition_variable_any waits with it.
class TESSERA_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
  public:
    explicit MutexLock(Mutex& mutex) TESSERA_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
    // Of a mutex that the caller has locked.
    MutexLock(Mutex& mutex, std::adopt_lock_t) TESSERA_REQUIRES(mutex) : mutex_(mutex) {}
    ~MutexLock() TESSERA_RELEASE() { mutex_.unlock(); }
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;

    // For a pause in the middle of the scope. At the end of the scope it must be locked.
    void unlock() TESSERA_RELEASE() { mutex_.unlock(); }
    void lock() TESSERA_ACQUIRE() { mutex_.lock(); }

  private:
    Mutex& mutex_;
};

}  // namespace tessera
