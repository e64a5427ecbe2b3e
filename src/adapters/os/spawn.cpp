#include "adapters/os/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

namespace tessera {
namespace {

class SpawnActions {
  public:
    SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
    ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
    SpawnActions(const SpawnActions&) = delete;
    SpawnActions& operator=(const SpawnActions&) = delete;

    posix_spawn_file_actions_t* get() { return &actions_; }
    void connect(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, from, to); }

  private:
    posix_spawn_file_actions_t actions_{};
};

// Programs inherit ignored signals; this one must not ignore SIGPIPE because we do.
class SpawnAttributes {
  public:
    explicit SpawnAttributes(bool new_session) {
        ::posix_spawnattr_init(&attributes_);
        sigset_t defaults;
        ::sigemptyset(&defaults);
        ::sigaddset(&defaults, SIGPIPE);
        ::posix_spawnattr_setsigdefault(&attributes_, &defaults);
        sigset_t none;
        ::sigemptyset(&none);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
        if (new_session) flags |= POSIX_SPAWN_SETSID;
        ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
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

}  // namespace

std::map<std::string, std::string> own_environment() {
    std::map<std::string, std::string> values;
    for (char** at = environ; *at != nullptr; ++at) {
        const std::string_view text(*at);
        const std::size_t equals = text.find('=');
        if (equals != std::string_view::npos)
            values[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
    return values;
}

Result<pid_t> spawn_program(const SpawnedProgram& program) {
    SpawnActions actions;
    if (program.input >= 0) {
        actions.connect(program.input, STDIN_FILENO);
    } else if (program.input == kNoInput) {
        ::posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    if (program.output >= 0) actions.connect(program.output, STDOUT_FILENO);
    if (program.errors >= 0) actions.connect(program.errors, STDERR_FILENO);
    std::vector<std::string> arguments = program.arguments;
    arguments.insert(arguments.begin(), program.path);
    std::vector<std::string> environment;
    environment.reserve(program.environment.size());
    for (const auto& [name, value] : program.environment)
        environment.push_back(fmt::format("{}={}", name, value));
    SpawnAttributes attributes(program.new_session);
    pid_t pid = 0;
    const int error = ::posix_spawnp(&pid, program.path.c_str(), actions.get(), attributes.get(),
                                     pointers(arguments).data(), pointers(environment).data());
    if (error == 0) return pid;
    return fail(error == ENOENT ? Code::not_found : Code::unavailable,
                fmt::format("{}: {}", program.path, std::strerror(error)));
}

}  // namespace tessera
