#include "adapters/os/command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <string_view>
#include <thread>

#include "adapters/os/descriptor.hpp"

namespace tessera {
namespace {

class SpawnActions {
  public:
    SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
    ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
    SpawnActions(const SpawnActions&) = delete;
    SpawnActions& operator=(const SpawnActions&) = delete;

    posix_spawn_file_actions_t* get() { return &actions_; }

  private:
    posix_spawn_file_actions_t actions_{};
};

// Programs inherit ignored signals; this one must not ignore SIGPIPE because we do.
class SpawnAttributes {
  public:
    SpawnAttributes() {
        ::posix_spawnattr_init(&attributes_);
        sigset_t defaults;
        ::sigemptyset(&defaults);
        ::sigaddset(&defaults, SIGPIPE);
        ::posix_spawnattr_setsigdefault(&attributes_, &defaults);
        sigset_t none;
        ::sigemptyset(&none);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    }
    ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }
    SpawnAttributes(const SpawnAttributes&) = delete;
    SpawnAttributes& operator=(const SpawnAttributes&) = delete;

    posix_spawnattr_t* get() { return &attributes_; }

  private:
    posix_spawnattr_t attributes_{};
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (std::string& text : texts)
        out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

std::vector<std::string> environment_of(const Command& command) {
    std::map<std::string, std::string> values;
    for (char** at = environ; *at != nullptr; ++at) {
        const std::string_view text(*at);
        const std::size_t equals = text.find('=');
        if (equals != std::string_view::npos)
            values[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
    for (const auto& [name, value] : command.environment)
        values[name] = value;
    std::vector<std::string> out;
    out.reserve(values.size());
    for (const auto& [name, value] : values)
        out.push_back(fmt::format("{}={}", name, value));
    return out;
}

Result<pid_t> spawn(const Command& command, int output) {
    SpawnActions actions;
    ::posix_spawn_file_actions_adddup2(actions.get(), output, STDOUT_FILENO);
    if (!command.interactive) {
        ::posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    std::vector<std::string> arguments = command.arguments;
    arguments.insert(arguments.begin(), command.program);
    std::vector<std::string> environment = environment_of(command);
    SpawnAttributes attributes;
    pid_t pid = 0;
    const int error = ::posix_spawnp(&pid, command.program.c_str(), actions.get(), attributes.get(),
                                     pointers(arguments).data(), pointers(environment).data());
    if (error == 0) return pid;
    return fail(error == ENOENT ? Code::not_found : Code::unavailable,
                fmt::format("{}: {}", command.program, std::strerror(error)));
}

using Time = std::chrono::steady_clock::time_point;

int left_ms(const std::optional<Time>& end) {
    if (!end) return -1;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*end - std::chrono::steady_clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

tl::unexpected<Error> too_late(const Command& command) {
    return fail(Code::unavailable, fmt::format("{}: does not end within {} s", command.program,
                                               command.deadline->count()));
}

// Reads until the end of the output. The error says why it stopped before.
Result<std::string> read_output(const Command& command, int fd, const std::optional<Time>& end) {
    std::string out;
    std::array<char, 4096> part{};
    while (true) {
        pollfd entry{fd, POLLIN, 0};
        const int ready = ::poll(&entry, 1, left_ms(end));
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) return too_late(command);
        const ssize_t got = ::read(fd, part.data(), part.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(Code::unavailable, std::strerror(errno));
        if (got == 0) return out;
        out.append(part.data(), static_cast<std::size_t>(got));
        if (out.size() > command.most_bytes) {
            return fail(Code::unavailable, fmt::format("{}: prints more than {} bytes",
                                                       command.program, command.most_bytes));
        }
    }
}

// A program may close its output and go on. The status is that of waitpid().
Result<int> wait_for(const Command& command, pid_t pid, const std::optional<Time>& end) {
    constexpr std::chrono::milliseconds kPause{5};
    int status = 0;
    while (true) {
        const pid_t done = ::waitpid(pid, &status, end ? WNOHANG : 0);
        if (done == pid) return status;
        if (done < 0 && errno != EINTR) return fail(Code::unavailable, std::strerror(errno));
        if (left_ms(end) == 0) return too_late(command);
        if (done == 0) std::this_thread::sleep_for(kPause);
    }
}

void kill_and_reap(pid_t pid) {
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace

Result<std::string> run_command(const Command& command) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(Code::unavailable, std::strerror(errno));
    const Descriptor input(ends[0]);
    Descriptor output(ends[1]);
    TRY(const pid_t pid, spawn(command, output.get()));
    output.close();
    std::optional<Time> end;
    if (command.deadline) end = std::chrono::steady_clock::now() + *command.deadline;
    auto text = read_output(command, input.get(), end);
    const auto status = text ? wait_for(command, pid, end) : Result<int>(fail(text.error()));
    if (!status) {
        kill_and_reap(pid);
        return fail(status.error());
    }
    if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return text;
    return fail(Code::unavailable,
                WIFEXITED(*status)
                    ? fmt::format("{}: exit status {}", command.program, WEXITSTATUS(*status))
                    : fmt::format("{}: ended by signal {}", command.program, WTERMSIG(*status)));
}

}  // namespace tessera
