#include "adapters/shell/shell_child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

namespace tessera {
namespace {

struct Pipe {
    Descriptor reader{-1};
    Descriptor writer{-1};

    bool open() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
        reader.replace(ends[0]);
        writer.replace(ends[1]);
        return true;
    }
};

// The end leaves its owner.
void take(Descriptor& into, Descriptor& from) {
    into.replace(::fcntl(from.get(), F_DUPFD_CLOEXEC, 3));
    ::fcntl(into.get(), F_SETFL, O_NONBLOCK);
    from.close();
}

int spawn(pid_t& pid, const std::string& command, const Pipe& in, const Pipe& out,
          const Pipe& err) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, in.reader.get(), 0);
    ::posix_spawn_file_actions_adddup2(&files, out.writer.get(), 1);
    ::posix_spawn_file_actions_adddup2(&files, err.writer.get(), 2);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes,
                               POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    std::string text = command;
    std::array<char, 3> shell{"sh"};
    std::array<char, 3> flag{"-c"};
    const std::array<char*, 4> words = {shell.data(), flag.data(), text.data(), nullptr};
    const int error = ::posix_spawn(&pid, "/bin/sh", &files, &attributes, words.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
    return error;
}

}  // namespace

Result<> ShellChild::start(const std::string& command) {
    Pipe in;
    Pipe out;
    Pipe err;
    if (!in.open() || !out.open() || !err.open())
        return fail(Code::unavailable, std::string("pipe: ") + std::strerror(errno));
    if (const int error = spawn(pid, command, in, out, err); error != 0)
        return fail(Code::unavailable, std::string("/bin/sh: ") + std::strerror(error));
    take(input, in.writer);
    take(output, out.reader);
    take(errors, err.reader);
    return {};
}

int shell_status(int wait_status) {
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace tessera
