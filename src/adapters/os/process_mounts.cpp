#include "adapters/os/process_mounts.hpp"

#include <fmt/format.h>

#include <optional>
#include <system_error>
#include <utility>

#include "adapters/os/text_file.hpp"
#include "domain/container_start/link_resolution.hpp"
#include "wire/node/mountinfo.hpp"

namespace fs = std::filesystem;

namespace tessera {
namespace {

constexpr std::string_view kMayNotReadLinks =
    " (the agent may not read the image's links: for images whose folders are links, give its pod "
    "the capability SYS_PTRACE)";

constexpr std::size_t kMostMountinfoBytes = std::size_t{4} << 20;

// A thread's folder in /proc, and the text of its mountinfo.
struct MountView {
    fs::path thread;
    std::string text;
};

Result<MountView> read_mounts(const fs::path& thread) {
    TRY(auto text, read_text_file_up_to(thread / "mountinfo", kMostMountinfoBytes));
    return MountView{thread, std::move(text)};
}

// The mounts of the process's first thread. If that has ended and others run, the first readable
// one of those. A tenant may create thousands of mounts, which are not read completely:
// invalid_argument.
Result<MountView> read_mounts_of(std::int64_t pid) {
    auto of_first = read_mounts(fmt::format("/proc/{}", pid));
    if (of_first || of_first.error().code == Code::invalid_argument) return of_first;
    for (const fs::path& thread : paths_in(fmt::format("/proc/{}/task", pid))) {
        auto of_thread = read_mounts(thread);
        if (of_thread || of_thread.error().code == Code::invalid_argument) return of_thread;
    }
    return of_first;
}

// The place of the runtime's mount at `path`, because the runtime follows the links of the image's
// folders.
struct ResolvedPath {
    std::string path;
    bool is_denied = false;  // the links may not be read, and are ignored
};

ResolvedPath resolved_in(const fs::path& thread, const std::string& path) {
    ResolvedPath out;
    const auto link_at = [&](const std::string& at) -> std::optional<std::string> {
        std::error_code error;
        const fs::path link = fs::read_symlink(thread / "root" / at.substr(1), error);
        out.is_denied |= error == std::errc::permission_denied;
        return error ? std::nullopt : std::optional(link.string());
    };
    out.path = with_folders_resolved(path, link_at);
    return out;
}

std::string canonical_text(const fs::path& path) {
    std::error_code error;
    return fs::weakly_canonical(path, error).string();
}

}  // namespace

Result<ProcessMounts> ProcessMounts::read(std::int64_t pid) {
    ProcessMounts out;
    TRY(const auto own_text, read_text_file("/proc/self/mountinfo"));
    TRY(out.ours_, read_mountinfo(own_text));
    auto view = read_mounts_of(pid);
    if (!view && view.error().code == Code::invalid_argument)
        return fail(Code::conflict, "it has more mounts than can be checked; make fewer");
    if (!view) {
        return fail(
            view.error().in("the container's mounts cannot be checked; does the agent's "
                            "pod have hostPID (guard.enabled of the Helm chart)?"));
    }
    TRY(out.theirs_, read_mountinfo(view->text));
    out.thread_ = std::move(view->thread);
    return out;
}

Result<> ProcessMounts::check(const std::vector<FileMount>& files, std::string_view container,
                              std::string_view what) const {
    for (const FileMount& mount : files) {
        const auto file = stored_at(ours_, canonical_text(mount.source));
        const ResolvedPath at = resolved_in(thread_, mount.destination);
        if (file && is_mounted_at(theirs_, at.path, *file)) continue;
        return fail(
            Code::conflict,
            fmt::format("container {}: {}, {}, is covered by "
                        "another mount or reached by a symbolic link of the image; remove "
                        "the volume or the link{}",
                        container, mount.destination, what, at.is_denied ? kMayNotReadLinks : ""));
    }
    return {};
}

bool ProcessMounts::has(const fs::path& source) const {
    const auto file = stored_at(ours_, canonical_text(source));
    return file && is_mounted_anywhere(theirs_, *file);
}

}  // namespace tessera
