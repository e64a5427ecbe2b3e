#include "adapters/mps/vendor_control_daemon.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iterator>
#include <system_error>
#include <thread>

#include "adapters/mps/bounded_log.hpp"
#include "adapters/mps/driver_libraries.hpp"
#include "adapters/mps/mps_servers.hpp"
#include "adapters/os/command.hpp"
#include "adapters/os/descriptor.hpp"
#include "adapters/os/driver_folders.hpp"
#include "adapters/os/spawn.hpp"
#include "adapters/os/text_file.hpp"
#include "wire/mps/control_protocol.hpp"
#include "wire/mps/server_log.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// What a client needs. Not `control_privileged`: through it, root in a container could change the
// limits of all. Not `log`: a line that a container writes there stops the daemon some minutes
// later (docs/research/mps-debian.md).
constexpr const char* kTenantFile = "control";
constexpr const char* kLock = "control_lock";
constexpr fs::perms kReadable = fs::perms::owner_all | fs::perms::group_read |
                                fs::perms::group_exec | fs::perms::others_read |
                                fs::perms::others_exec;
constexpr std::chrono::seconds kAnswer{2};
constexpr std::chrono::seconds kStart{10};
constexpr std::chrono::seconds kEnd{5};
constexpr std::chrono::milliseconds kPause{10};

using Time = std::chrono::steady_clock::time_point;

Time in(std::chrono::seconds duration) {
    return std::chrono::steady_clock::now() + duration;
}

bool is_over(Time end) {
    return std::chrono::steady_clock::now() >= end;
}

std::string joined(const std::vector<std::string>& folders) {
    return fmt::format("{}", fmt::join(folders, ":"));
}

tl::unexpected<Error> failed(const fs::path& path, const std::error_code& error) {
    return fail(Code::unavailable, fmt::format("{}: {}", path.string(), error.message()));
}

Result<> make_folder(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    // Servers of other users than root go through it.
    if (!error) fs::permissions(path, kReadable, error);
    if (error) return failed(path, error);
    return {};
}

bool is_same(const fs::path& one, const fs::path& other) {
    struct stat a{};
    struct stat b{};
    return ::lstat(one.c_str(), &a) == 0 && ::lstat(other.c_str(), &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

Result<VendorMpsPrograms> find_mps_programs(const std::string& driver_root, const fs::path& links) {
    VendorMpsPrograms programs;
    for (const char* folder : {"usr/bin", "usr/sbin", "usr/local/nvidia/bin", "bin"}) {
        const std::string path = in_driver_root(driver_root, folder);
        programs.folders.push_back(path);
        const std::string control = path + "/" + kMpsControl;
        if (programs.control.empty() && ::access(control.c_str(), X_OK) == 0)
            programs.control = control;
    }
    if (!programs.control.empty()) {
        TRY_VOID(link_driver_libraries(driver_root, links));
        programs.libraries = links;
        return programs;
    }
    return fail(Code::not_found,
                fmt::format("no {} in {}; install the part of NVIDIA's driver with MPS, or set "
                            "driver_root",
                            kMpsControl, fmt::join(programs.folders, ", ")));
}

Result<std::optional<std::int64_t>> VendorControlDaemon::pid() {
    if (child_ != 0 && ::waitpid(child_, nullptr, WNOHANG) != 0) child_ = 0;
    const fs::path path = paths_.pipes() / kLock;
    const Descriptor lock(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (lock.get() < 0 && errno == ENOENT) return std::optional<std::int64_t>();
    if (lock.get() < 0) return failed(path, {errno, std::generic_category()});
    // Twice, because a daemon may end between the two questions.
    std::int64_t stranger = 0;
    while (true) {
        struct flock asked{};
        asked.l_type = F_WRLCK;
        asked.l_whence = SEEK_SET;
        if (::fcntl(lock.get(), F_GETLK, &asked) != 0)
            return failed(path, {errno, std::generic_category()});
        if (asked.l_type == F_UNLCK) return std::optional<std::int64_t>();
        if (asked.l_pid <= 0) {
            return fail(Code::conflict,
                        fmt::format("{} is locked by a process that tessera-mps does not see; give "
                                    "its pod hostPID",
                                    path.string()));
        }
        if (is_mps_control(asked.l_pid)) return std::optional<std::int64_t>(asked.l_pid);
        // All users of the node may lock the file.
        if (asked.l_pid == stranger) {
            return fail(Code::conflict,
                        fmt::format("{} is locked by the process {}, which is no {}", path.string(),
                                    stranger, kMpsControl));
        }
        stranger = asked.l_pid;
    }
}

Result<> VendorControlDaemon::start() {
    for (const fs::path& folder : {paths_.pipes(), paths_.logs(), paths_.tenants()})
        TRY_VOID(make_folder(folder));
    const fs::path log = paths_.logs() / kDaemonLog;
    const Descriptor output(
        ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (output.get() < 0) return failed(log, {errno, std::generic_category()});
    struct stat before{};
    if (::fstat(output.get(), &before) != 0) return failed(log, {errno, std::generic_category()});
    const auto logged = static_cast<std::uintmax_t>(before.st_size);
    // Nothing of our own environment: the daemon passes it to its servers.
    const auto started = spawn_program({.path = programs_.control,
                                        .arguments = {"-f"},
                                        .environment = {{kMpsPipesVariable, paths_.pipes()},
                                                        {"CUDA_MPS_LOG_DIRECTORY", paths_.logs()},
                                                        {"CUDA_VISIBLE_DEVICES", gpu_.str()},
                                                        {"LD_LIBRARY_PATH", programs_.libraries},
                                                        {"PATH", joined(programs_.folders)}},
                                        .output = output.get(),
                                        .errors = output.get(),
                                        .new_session = true});
    if (!started) return fail(started.error());
    child_ = *started;
    auto waited = wait_for_commands(child_, logged);
    if (waited || child_ == 0) return waited;
    (void)kill(child_);
    return waited;
}

Result<> VendorControlDaemon::wait_for_commands(pid_t child, std::uintmax_t logged) {
    const Time end = in(kStart);
    while (!is_over(end)) {
        const auto now = pid();
        if (child_ == 0) {
            return fail(Code::unavailable,
                        fmt::format("MPS's control daemon ended as it started: {}",
                                    written_since(paths_.logs() / kDaemonLog, logged)));
        }
        if (now && *now == child && execute(mps::kGetDefaultThreads)) return {};
        std::this_thread::sleep_for(kPause);
    }
    return fail(Code::unavailable, fmt::format("MPS's control daemon takes no command {} s after "
                                               "its start",
                                               kStart.count()));
}

Result<> VendorControlDaemon::kill(std::int64_t daemon) {
    const Time end = in(kEnd);
    const auto lives = [&]() -> Result<bool> {
        TRY(const auto now, pid());
        return now == daemon || daemon == child_;
    };
    // The lock again: the process may have ended, and its number belong to another.
    TRY(bool is_left, lives());
    if (is_left) ::kill(static_cast<pid_t>(daemon), SIGKILL);
    while (is_left) {
        if (is_over(end)) {
            return fail(Code::unavailable,
                        fmt::format("MPS's control daemon {} does not end by SIGKILL", daemon));
        }
        std::this_thread::sleep_for(kPause);
        TRY(is_left, lives());
    }
    return end_mps_servers(paths_.pipes());
}

std::vector<std::int64_t> VendorControlDaemon::faulted_clients() {
    // With -f, servers write to the daemon's output; their own log is read in case a driver
    // differs.
    std::vector<std::int64_t> faulted =
        mps::faulted_clients(appended_lines(paths_.logs() / kDaemonLog, daemon_logged_));
    std::ranges::copy(
        mps::faulted_clients(appended_lines(paths_.logs() / kServerLog, server_logged_)),
        std::back_inserter(faulted));
    return faulted;
}

Result<> VendorControlDaemon::end_server(std::int64_t pid) {
    TRY(const MpsServers servers, mps_servers_of(paths_.pipes()));
    if (std::ranges::find(servers.ours, pid) != servers.ours.end())
        ::kill(static_cast<pid_t>(pid), SIGKILL);
    return {};
}

bool VendorControlDaemon::has_servers() {
    const auto servers = mps_servers_of(paths_.pipes());
    return !servers || !servers->ours.empty() || !servers->unknown.empty();
}

Result<std::string> VendorControlDaemon::execute(std::string_view command) {
    return run(command, paths_.pipes());
}

Result<std::string> VendorControlDaemon::execute_as_tenant(std::string_view command) {
    return run(command, paths_.tenants());
}

Result<std::string> VendorControlDaemon::run(std::string_view command,
                                             const fs::path& pipes) const {
    const Time end = in(kAnswer);
    auto answer = run_command(
        {.program = programs_.control,
         .environment = {{kMpsPipesVariable, pipes}, {"LD_LIBRARY_PATH", programs_.libraries}},
         .input = std::string(command) + "\n",
         .errors_in_output = true,
         .deadline = kAnswer});
    // A daemon that lives without its sockets is as silent as one that hangs.
    const bool has_no_socket =
        !answer && answer.error().text.find("Cannot find MPS control") != std::string::npos;
    if (answer || has_no_socket || is_over(end)) return answer;
    // The daemon has not kept silent: our own process could not ask.
    return fail(Code::conflict, answer.error().text);
}

Result<> VendorControlDaemon::open() {
    TRY_VOID(make_folder(paths_.tenants()));
    const fs::path of_daemon = paths_.pipes() / kTenantFile;
    const fs::path of_tenants = paths_.tenants() / kTenantFile;
    if (is_same(of_daemon, of_tenants)) return {};
    std::error_code error;
    fs::remove_all(of_tenants, error);
    fs::create_hard_link(of_daemon, of_tenants, error);
    if (error) return failed(of_tenants, error);
    return {};
}

void VendorControlDaemon::close() {
    for (const fs::path& path : paths_in(paths_.tenants())) {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
}

Result<> VendorControlDaemon::clear() {
    TRY_VOID(end_mps_servers(paths_.pipes()));
    TRY(const auto now, pid());
    if (now) return fail(Code::conflict, "another control daemon has just started");
    for (const fs::path& path : paths_in(paths_.pipes())) {
        // A daemon that starts and has not locked it yet would be lost.
        if (path.filename() == kLock) continue;
        std::error_code error;
        fs::remove(path, error);
        if (error) return failed(path, error);
    }
    return {};
}

}  // namespace tessera
