#include "adapters/os/command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>

#include "adapters/os/descriptor.hpp"
#include "adapters/os/spawn.hpp"

namespace tessera {
namespace {

// A pipe in which all of the input lies already: its writer has closed it.
Result<> fill_pipe(const std::string& text, Descriptor& reads) {
    // Such a pipe has room for at least this much, so the write cannot wait for a reader.
    constexpr std::size_t kMostInput = std::size_t{32} << 10;
    if (text.size() > kMostInput) {
        return fail(Code::invalid_argument,
                    fmt::format("input of {} bytes; write at most {}", text.size(), kMostInput));
    }
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(Code::unavailable, std::strerror(errno));
    reads.replace(ends[0]);
    const Descriptor writes(ends[1]);
    if (::write(writes.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()))
        return {};
    return fail(Code::unavailable, std::strerror(errno));
}

Result<pid_t> spawn(const Command& command, int output) {
    SpawnedProgram program{.path = command.program,
                           .arguments = command.arguments,
                           .environment = own_environment(),
                           .output = output};
    for (const auto& [name, value] : command.environment)
        program.environment[name] = value;
    if (command.errors_in_output) program.errors = output;
    if (command.interactive) program.input = kOwnInput;
    if (!command.input) return spawn_program(program);
    Descriptor input(-1);
    TRY_VOID(fill_pipe(*command.input, input));
    program.input = input.get();
    return spawn_program(program);
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

std::string last_line(std::string_view text) {
    while (text.ends_with('\n'))
        text.remove_suffix(1);
    return std::string(text.substr(text.rfind('\n') + 1));
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
    const std::string how = WIFEXITED(*status)
                                ? fmt::format("exit status {}", WEXITSTATUS(*status))
                                : fmt::format("ended by signal {}", WTERMSIG(*status));
    const std::string said = command.errors_in_output ? last_line(*text) : "";
    return fail(Code::unavailable,
                fmt::format("{}: {}{}{}", command.program, how, said.empty() ? "" : ": ", said));
}

}  // namespace tessera
