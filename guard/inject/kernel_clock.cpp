#include "guard/inject/kernel_clock.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include "guard/inject/elf.hpp"

namespace tessera::guard {
namespace {

// Source: vdso(7).
constexpr char kVdso[] = "linux-vdso.so.1";
#if defined(__x86_64__)
constexpr char kClock[] = "__vdso_clock_gettime";
#elif defined(__aarch64__)
constexpr char kClock[] = "__kernel_clock_gettime";
#endif

// Used if there is no vdso (for example under gVisor or valgrind), or if it does not know the
// clock.
int ask_kernel(clockid_t clock, timespec* now) {
    return static_cast<int>(syscall(SYS_clock_gettime, clock, now));
}

}  // namespace

ReadClock kernel_clock() {
    const LoadedObject vdso = find_loaded(kVdso, kClock);
    const auto function = reinterpret_cast<ReadClock>(find_function(vdso, kClock));
    timespec now = {};
    return function != nullptr && function(CLOCK_MONOTONIC, &now) == 0 ? function : &ask_kernel;
}

}  // namespace tessera::guard
