#include "gpusim/cuda/work/runner.hpp"

#include <pthread.h>

#include <csignal>

#include "gpusim/cuda/work/work.hpp"

// It has one version since the oldest supported glibc. Weak, because it was in libpthread before
// 2.34.
#pragma weak pthread_create
#if defined(__x86_64__)
__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver pthread_create, pthread_create@GLIBC_2.17");
#endif

namespace gpusim {
namespace {

constinit bool is_started = false;
constinit Operation* first_call = nullptr;  // in the order in which they became due
constinit Operation* last_call = nullptr;

void* run(void* /*unused*/) {
    pthread_mutex_lock(&driver.mutex);
    for (;;) {
        move_on();
        if (call_next_host()) continue;
        sleep_until(next_due());
    }
    return nullptr;
}

// Signals of the program must be delivered to the program's threads.
bool start() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pthread_t thread = 0;
    const bool has_begun = pthread_create(&thread, nullptr, run, nullptr) == 0;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return has_begun;
}

}  // namespace

void need_runner() {
    if (!is_started && pthread_create != nullptr) is_started = start();
    ring();
}

bool has_runner() {
    return is_started;
}

void call_host(Operation& operation) {
    operation.next_call = nullptr;
    (last_call != nullptr ? last_call->next_call : first_call) = &operation;
    last_call = &operation;
    need_runner();
}

bool call_next_host() {
    Operation* call = first_call;
    if (call == nullptr) return false;
    first_call = call->next_call;
    if (first_call == nullptr) last_call = nullptr;
    call->is_called = true;
    const CUresult status = call->stream->context->error;
    pthread_mutex_unlock(&driver.mutex);
    if (call->callback != nullptr) {
        call->callback(reinterpret_cast<CUstream>(call->stream), status, call->data);
    } else if (status == CUDA_SUCCESS) {
        call->host_function(call->data);
    }
    pthread_mutex_lock(&driver.mutex);
    finish(*call, monotonic_ns());
    return true;
}

}  // namespace gpusim
