#include "adapters/memory_limits/cgroup_processes.hpp"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <system_error>

#include "adapters/os/text_file.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProcesses = "cgroup.procs";

// Whether `is_sought` holds for the text of the processes of the cgroup or of one below.
bool any_of(const fs::path& cgroup, const std::function<bool(const std::string&)>& is_sought) {
    const auto here = read_text_file(cgroup / kProcesses);
    if (here && is_sought(*here)) return true;
    std::error_code error;
    for (fs::recursive_directory_iterator at(cgroup, error), end; !error && at != end;
         at.increment(error)) {
        if (at->path().filename() != kProcesses || at.depth() == 0) continue;
        const auto text = read_text_file(at->path());
        if (text && is_sought(*text)) return true;
    }
    return false;
}

}  // namespace

Result<> check_process_in(const fs::path& cgroup, std::int64_t pid) {
    const auto here = read_text_file(cgroup / kProcesses);
    if (!here) return fail(Code::unavailable, here.error().text);
    // One pid in each line.
    const std::string line = fmt::format("\n{}\n", pid);
    if (any_of(cgroup,
               [&](const std::string& text) { return ("\n" + text).find(line) != text.npos; }))
        return {};
    return fail(Code::conflict,
                fmt::format("process {} is not in the cgroup {}, so the driver does not limit its "
                            "memory",
                            pid, cgroup.string()));
}

bool has_processes(const fs::path& cgroup) {
    return any_of(cgroup, [](const std::string& text) { return !text.empty(); });
}

}  // namespace tessera
