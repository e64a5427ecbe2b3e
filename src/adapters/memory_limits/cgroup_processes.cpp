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

enum class Answer { yes, no, unreadable };

// Whether `is_sought` holds for the text of the processes of the cgroup or of one below. A cgroup
// that disappears meanwhile has no processes.
Answer any_of(const fs::path& cgroup, const std::function<bool(const std::string&)>& is_sought) {
    const auto here = read_text_file(cgroup / kProcesses);
    if (!here) return here.error().code == Code::not_found ? Answer::no : Answer::unreadable;
    if (is_sought(*here)) return Answer::yes;
    std::error_code error;
    Answer all = Answer::no;
    for (fs::directory_iterator at(cgroup, error), end; !error && at != end; at.increment(error)) {
        std::error_code gone;
        if (!at->is_directory(gone)) continue;
        const Answer below = any_of(at->path(), is_sought);
        if (below == Answer::yes) return below;
        if (below == Answer::unreadable) all = below;
    }
    return error && error != std::errc::no_such_file_or_directory ? Answer::unreadable : all;
}

}  // namespace

Result<> check_process_in(const fs::path& cgroup, std::int64_t pid) {
    const auto here = read_text_file(cgroup / kProcesses);
    if (!here) return fail(Code::unavailable, here.error().text);
    // One pid in each line.
    const std::string line = fmt::format("\n{}\n", pid);
    const Answer found = any_of(cgroup, [&](const std::string& text) {
        return ("\n" + text).find(line) != std::string::npos;
    });
    if (found == Answer::yes) return {};
    if (found == Answer::unreadable)
        return fail(Code::unavailable, cgroup.string() + ": its processes cannot be read");
    return fail(Code::conflict,
                fmt::format("process {} is not in the cgroup {}, so the driver does not limit its "
                            "memory",
                            pid, cgroup.string()));
}

bool has_processes(const fs::path& cgroup) {
    return any_of(cgroup, [](const std::string& text) { return !text.empty(); }) != Answer::no;
}

}  // namespace tessera
