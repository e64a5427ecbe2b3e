#include "adapters/os/proc_table.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "adapters/os/text_file.hpp"
#include "wire/node/cgroup_text.hpp"
#include "wire/node/process_status.hpp"

namespace tessera {

std::vector<pid_t> process_ids() {
    std::vector<pid_t> out;
    for (const std::filesystem::path& process : paths_in("/proc")) {
        const std::string name = process.filename();
        pid_t pid = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (error == std::errc() && end == name.data() + name.size()) out.push_back(pid);
    }
    return out;
}

std::optional<PodUid> ProcTable::pod_of(std::int64_t pid) {
    const auto text = read_text_file(fmt::format("/proc/{}/cgroup", pid));
    return text ? pod_of_cgroup(*text) : std::nullopt;
}

std::optional<std::int64_t> ProcTable::pid_in_container(std::int64_t pid) {
    const auto text = read_text_file(fmt::format("/proc/{}/status", pid));
    return text ? innermost_pid(*text) : std::nullopt;
}

std::optional<std::int64_t> ProcTable::started_at(std::int64_t pid) {
    const auto text = read_text_file(fmt::format("/proc/{}/stat", pid));
    return text ? start_ticks(*text) : std::nullopt;
}

// Takes a descriptor before it checks the owner of the process, because the pid may be reused at
// any moment. glibc 2.36 has no wrappers for these calls.
Result<> ProcTable::end(std::int64_t pid, const PodUid& pod) {
    const auto handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (handle < 0) {
        return fail(errno == ESRCH ? Code::not_found : Code::permission_denied,
                    fmt::format("process {} cannot be reached: {}", pid, std::strerror(errno)));
    }
    const bool is_of_pod = pod_of(pid) == pod;
    const bool is_sent =
        is_of_pod && syscall(SYS_pidfd_send_signal, handle, SIGKILL, nullptr, 0) == 0;
    const int error = errno;
    close(handle);
    if (is_sent) return {};
    if (!is_of_pod || error == ESRCH)
        return fail(Code::not_found, fmt::format("process {} is not of pod {}", pid, pod.str()));
    return fail(Code::permission_denied, fmt::format("process {}: {}", pid, std::strerror(error)));
}

}  // namespace tessera
