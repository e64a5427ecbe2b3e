// A clock of the program's own, an hour ahead, as libfaketime provides one.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec* now);

int clock_gettime(clockid_t clock, struct timespec* now) {
    const long result = syscall(SYS_clock_gettime, clock, now);
    now->tv_sec += 3600;
    return (int)result;
}
