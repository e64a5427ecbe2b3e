// Attacks by what the kernel lets a process do to itself and to its children.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "guard/attacks/attack.hpp"

namespace tessera::attacks {
namespace {

// From now on, also in programs that are executed, this system call does nothing and returns
// `error`.
void answer(unsigned number, unsigned error) {
    sock_filter code[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    sock_fprog filter = {4, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0)
        give_up("seccomp");
}

// mov rax, target; jmp rax
struct Jump {
    unsigned char code[16];
};
Jump jump_to(const void* place) {
    const auto target = reinterpret_cast<std::uintptr_t>(place);
    Jump jump = {{0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0, 0x90, 0x90, 0x90, 0x90}};
    std::memcpy(jump.code + 2, &target, sizeof target);
    return jump;
}

struct Places {
    void* hook;
    void* driver;
};

[[noreturn]] void traced_child(int to_parent) {
    begin();
    const Alloc hook = CUDA(cuMemAlloc_v2);
    const Places places = {reinterpret_cast<void*>(hook),
                           reinterpret_cast<void*>(unguarded_alloc())};
    if (write(to_parent, &places, sizeof places) != sizeof places) give_up("a pipe");
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    take(hook);
    done_and_wait();
}

}  // namespace

void seccomp_denied() {
    answer(SYS_madvise, EPERM);
    execute_self("dlsym_handle", environ);
    give_up("it cannot be executed again");
}
void seccomp_faked() {
    answer(SYS_madvise, 0);
    execute_self("fork_with_context", environ);
    give_up("it cannot be executed again");
}
void seccomp_without_locks() {
    answer(SYS_flock, 0);
    answer(SYS_prctl, 0);
    execute_self("fork_with_context", environ);
    give_up("it cannot be executed again");
}

void traced() {
    int pipes[2];
    if (pipe(pipes) != 0) give_up("a pipe");
    const pid_t child = fork();
    if (child == 0) traced_child(pipes[1]);
    Places places = {};
    int status = 0;
    if (read(pipes[0], &places, sizeof places) != sizeof places ||
        waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        give_up("the child does not stop");
    const Jump jump = jump_to(places.driver);
    for (std::size_t i = 0; i < sizeof jump.code; i += sizeof(long)) {
        long word = 0;
        std::memcpy(&word, jump.code + i, sizeof word);
        if (ptrace(PTRACE_POKETEXT, child, static_cast<char*>(places.hook) + i, word) != 0)
            give_up("ptrace");
    }
    ptrace(PTRACE_DETACH, child, nullptr, nullptr);
    wait(nullptr);
    _exit(0);
}

}  // namespace tessera::attacks
