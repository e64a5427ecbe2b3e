// Attacks by several processes, threads and signals.
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <thread>
#include <vector>

#include "guard/attacks/attack.hpp"

namespace tessera::attacks {

void forked() {
    if (fork() == 0) {
        begin();
        take(CUDA(cuMemAlloc_v2));
        done_and_wait();
    }
    wait(nullptr);
    _exit(0);
}
void cloned() {
    if (syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr) == 0) {
        begin();
        take(CUDA(cuMemAlloc_v2));
        done_and_wait();
    }
    wait(nullptr);
    _exit(0);
}
void executed() {
    char name[] = "guard_attack";
    char way[] = "dlsym_handle";
    char* arguments[] = {name, way, nullptr};
    char* nothing[] = {nullptr};
    execve("/proc/self/exe", arguments, nothing);
}
void threads() {
    begin();
    CUcontext context = nullptr;
    CUDA(cuCtxGetCurrent)(&context);
    std::vector<std::thread> all;
    constexpr int kThreads = 8;
    all.reserve(kThreads);
    for (int i = 0; i < kThreads; i++) {
        all.emplace_back([context] {
            CUDA(cuCtxSetCurrent)(context);
            take(CUDA(cuMemAlloc_v2));
        });
    }
    for (std::thread& each : all)
        each.join();
}

Alloc kept_alloc = nullptr;
void in_signal_handler() {
    begin();
    constexpr char kSpin[] =
        "//gpusim spin block_ns=500000000\n.version 6.0\n.visible .entry spin()\n";
    CUmodule module = nullptr;
    CUfunction spin = nullptr;
    CUDA(cuModuleLoadData)(&module, kSpin);
    CUDA(cuModuleGetFunction)(&spin, module, "spin");
    kept_alloc = CUDA(cuMemAlloc_v2);
    signal(SIGALRM, [](int) { take(kept_alloc); });
    CUDA(cuLaunchKernel)(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
    const itimerval soon = {{0, 0}, {0, 100'000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    CUDA(cuStreamSynchronize)(nullptr);
}

// The child may believe the state that it inherits.
void fork_with_context() {
    begin();
    const Alloc alloc = CUDA(cuMemAlloc_v2);
    take(alloc);
    if (fork() == 0) {
        take(alloc);
        enter();
        take(CUDA(cuMemAlloc_v2));
        done_and_wait();
    }
    wait(nullptr);
    _exit(0);
}
// Each process takes less around the guard than the agent's allowance.
void many_small_bypasses() {
    for (int i = 0; i < 4; i++) {
        if (fork() != 0) continue;
        begin();
        take(unguarded_alloc(), kStep);
        done_and_wait();
    }
    while (wait(nullptr) > 0) {
    }
    _exit(0);
}
// A child repeatedly allocates memory, passes it to its parent, and frees it.
void passed_by_ipc() {
    int pipes[2];
    if (pipe(pipes) != 0) give_up("a pipe");
    constexpr int kTimes = 4;
    int back[2];
    if (pipe(back) != 0) give_up("a pipe");
    if (fork() == 0) {
        begin();
        for (int i = 0; i < kTimes; i++) {
            CUdeviceptr pointer = 0;
            CUipcMemHandle handle = {};
            char letter = 0;
            if (CUDA(cuMemAlloc_v2)(&pointer, kStep) == CUDA_SUCCESS)
                CUDA(cuIpcGetMemHandle)(&handle, pointer);
            if (write(pipes[1], &handle, sizeof handle) < 0 || read(back[0], &letter, 1) < 0)
                _exit(3);
            CUDA(cuMemFree_v2)(pointer);
        }
        _exit(0);
    }
    begin();
    for (int i = 0; i < kTimes; i++) {
        CUipcMemHandle handle = {};
        CUdeviceptr pointer = 0;
        if (read(pipes[0], &handle, sizeof handle) != sizeof handle) break;
        CUDA(cuIpcOpenMemHandle_v2)(&pointer, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
        if (write(back[1], "x", 1) != 1) break;
    }
    wait(nullptr);
}

}  // namespace tessera::attacks
