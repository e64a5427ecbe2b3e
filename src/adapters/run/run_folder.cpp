#include "adapters/run/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <tuple>

#include "adapters/guard/guard_units.hpp"
#include "adapters/guard/open_region.hpp"
#include "adapters/guard/region_use.hpp"
#include "adapters/os/plain_file.hpp"
#include "adapters/os/proc_table.hpp"
#include "adapters/os/text_file.hpp"
#include "adapters/run/run_lock.hpp"
#include "adapters/run/run_members.hpp"
#include "guard/region/accounts_reader.hpp"
#include "guard/region/create.hpp"
#include "guard/region/life.hpp"
#include "wire/tessera/run_lease_json.hpp"

namespace fs = std::filesystem;

namespace tessera {
namespace {

constexpr const char* kLock = "lock";
constexpr const char* kLease = "lease";
constexpr const char* kShare = "share";
constexpr const char* kLibrary = "libtessera-guard.so";
constexpr std::string_view kNew = ".new-";
constexpr std::string_view kOld = ".old-";
// All users add to these folders, and none removes what belongs to another.
constexpr mode_t kForAll = 01777;
constexpr mode_t kOfOne = 0755;

tl::unexpected<Error> failed(const fs::path& path, int error) {
    const Code code =
        error == EACCES || error == EPERM ? Code::permission_denied : Code::unavailable;
    return fail(code, fmt::format("{}: {}", path.string(), std::strerror(error)));
}

// With these permissions, whatever the umask is. Does nothing if the folder exists.
Result<> make_folder(const fs::path& path, mode_t mode) {
    if (::mkdir(path.c_str(), mode) == 0)
        return ::chmod(path.c_str(), mode) == 0 ? Result<>() : failed(path, errno);
    if (errno == EEXIST) return {};
    return failed(path, errno);
}

tl::unexpected<Error> no_folder(const fs::path& path, const Error& error) {
    return fail(error.code,
                fmt::format("{}; the folder of the runs is made once, by an administrator: sudo "
                            "install -d -m 1777 {}; or choose another folder with --state",
                            error.text, path.string()));
}

// LD_PRELOAD has the path of a library in this folder, and divides at these characters.
Result<> check_path(const fs::path& path) {
    if (path.string().find_first_of(" \t\n:") != std::string::npos) {
        return fail(Code::invalid_argument,
                    fmt::format("--state: {} has a blank or a colon, which LD_PRELOAD cannot hold; "
                                "choose another folder",
                                path.string()));
    }
    struct statvfs about = {};
    if (::statvfs(path.c_str(), &about) == 0 && (about.f_flag & ST_NOEXEC) != 0) {
        return fail(Code::invalid_argument,
                    fmt::format("--state: {} is mounted noexec, so no program could load the guard "
                                "from there; choose another folder",
                                path.string()));
    }
    return {};
}

// Only whole runs are moved, so that a run is never seen in part.
void remove_folder(const fs::path& path, const fs::path& old) {
    std::error_code error;
    fs::rename(path, old, error);
    if (!error) fs::remove_all(old, error);
}

std::int64_t owner_of(const fs::path& path) {
    struct stat about = {};
    return ::lstat(path.c_str(), &about) == 0 ? about.st_uid : -1;
}

// What is left of a run whose lock is free: none of its processes has the lock's descriptor. They
// may have closed it.
enum class Unlocked {
    live,      // a process uses the GPU, or has the guard loaded
    released,  // its processes may be alive, and the guard refuses them the GPU
    ended      // no process is alive
};

// Other users' processes can be seen only while they use the GPU. Otherwise their share is
// released, and they get it no more.
Unlocked look_at_unlocked(const fs::path& run) {
    const OwnedDescriptor accounts(::open((run / kShare / guard::kAccountsName).c_str(),
                                          O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    const bool may_enter = accounts.is_open() && guard::begins_as_accounts(accounts.get());
    if (may_enter && guard::is_anyone_in(accounts.get())) return Unlocked::live;
    const uid_t user = ::geteuid();
    if (user == 0 || owner_of(run) == user) {
        if (!has_process(run / kShare / kLibrary)) return Unlocked::ended;
        return may_enter ? Unlocked::live : Unlocked::released;
    }
    if (may_enter && !guard::close_accounts(accounts.get())) return Unlocked::live;
    return Unlocked::released;
}

LiveRun live_run(const fs::path& path, RunLease lease) {
    LiveRun run{.id = path.filename(), .lease = std::move(lease), .uid = owner_of(path / kLease)};
    run.is_program_alive = ProcTable().started_at(run.lease.pid) == run.lease.start_ticks;
    const auto region = OpenRegion::open(path / kShare, ChangedLimits::own);
    run.is_damaged = region == nullptr;
    if (region == nullptr) return run;
    const ShareUse use = read_use(*region, 0);
    run.used = use.used;
    run.refusals = use.refusals;
    run.is_damaged = use.is_damaged;
    return run;
}

// The run in this folder, if it is live; otherwise the folder is removed.
Result<std::optional<LiveRun>> look_at(const fs::path& path) {
    const auto is_gone = [&] {
        std::error_code error;
        return !fs::exists(fs::symlink_status(path, error));
    };
    const RunLockState lock = run_lock_state(path / kLock);
    if (lock == RunLockState::missing) {
        if (is_gone()) return std::optional<LiveRun>();
        return fail(
            Code::corrupt,
            fmt::format("{} is no folder of a run: it has no lock; remove it", path.string()));
    }
    const Unlocked left = lock == RunLockState::free ? look_at_unlocked(path) : Unlocked::live;
    if (left == Unlocked::ended) {
        remove_folder(path,
                      path.parent_path() / fmt::format("{}{}", kOld, path.filename().string()));
    }
    if (left != Unlocked::live) return std::optional<LiveRun>();
    const fs::path file = path / kLease;
    auto text = read_plain_file(file, kMostLeaseBytes);
    if (!text && is_gone()) return std::optional<LiveRun>();
    auto lease = text ? read_run_lease(*text) : Result<RunLease>(fail(text.error()));
    if (!lease) {
        return fail(
            Code::corrupt,
            fmt::format("{}: {}; end the processes of this run (fuser {}), then remove {}",
                        file.string(), lease.error().text, (path / kLock).string(), path.string()));
    }
    return std::optional(live_run(path, std::move(*lease)));
}

}  // namespace

fs::path NewRun::library() const {
    return region() / kLibrary;
}

Result<> NewRun::publish(const RunLease& lease) const {
    TRY_VOID(write_text_file(draft() / kLease, write_run_lease(lease)));
    if (::rename(draft().c_str(), folder().c_str()) != 0) return failed(folder(), errno);
    return {};
}

void NewRun::remove() const {
    const fs::path old = runs_ / fmt::format("{}{}", kOld, id_);
    remove_folder(folder(), old);
    remove_folder(draft(), old);
}

bool RunFolder::exists(const std::string& path) {
    std::error_code error;
    return fs::is_directory(fs::path(path) / "runs", error);
}

Result<RunFolder> RunFolder::open(const std::string& path) {
    std::error_code error;
    const fs::path absolute = fs::absolute(path, error).lexically_normal();
    if (auto made = make_folder(absolute, kForAll); !made) return no_folder(absolute, made.error());
    const fs::path folder = fs::canonical(absolute, error);
    if (error) return failed(absolute, error.value());
    TRY_VOID(check_path(folder));
    RunFolder out(folder);
    if (auto made = make_folder(out.runs(), kForAll); !made) return no_folder(folder, made.error());
    if (::access(out.runs().c_str(), R_OK | W_OK | X_OK) != 0) {
        return no_folder(folder,
                         {Code::permission_denied,
                          fmt::format("{}: {}", out.runs().string(), std::strerror(errno))});
    }
    return out;
}

Result<OwnedDescriptor> RunFolder::lock() const {
    TRY(OwnedDescriptor file, open_lock_file(path_ / kLock));
    TRY_VOID(lock_exclusively(file, path_ / kLock));
    return file;
}

Result<std::vector<LiveRun>> RunFolder::live_runs() const {
    std::vector<LiveRun> out;
    for (const fs::path& path : paths_in(runs())) {
        const std::string name = path.filename().string();
        if (name.starts_with(kNew) || name.starts_with(kOld)) {
            // Its process was killed: another one that adds a run has the lock.
            std::error_code error;
            fs::remove_all(path, error);
            continue;
        }
        TRY(auto run, look_at(path));
        if (run) out.push_back(std::move(*run));
    }
    std::ranges::sort(
        out, {}, [](const LiveRun& run) { return std::tuple(run.lease.started_unix_ns, run.id); });
    return out;
}

Result<NewRun> RunFolder::prepare(const RunShare& share) const {
    std::string made = (runs() / fmt::format("{}XXXXXX", kNew)).string();
    if (::mkdtemp(made.data()) == nullptr) return failed(runs(), errno);
    NewRun run(runs(), fs::path(made).filename().string().substr(kNew.size()));
    const auto fill = [&]() -> Result<> {
        if (::chmod(made.c_str(), kOfOne) != 0) return failed(made, errno);
        TRY(run.lock_, make_run_lock(run.draft() / kLock));
        const fs::path region = run.draft() / kShare;
        TRY_VOID(make_folder(region, kOfOne));
        TRY(const std::string library, read_text_file(share.library));
        TRY_VOID(write_text_file(region / kLibrary, library));
        const guard::RegionGpu gpu{.uuid = share.gpu.str().c_str(),
                                   .memory_bytes = static_cast<std::uint64_t>(share.memory.count),
                                   .context_bytes = 0,
                                   .cores = millionths_of(share.cores),
                                   .cores_limit = millionths_of(share.cores_limit)};
        const int error = guard::create_region(region.c_str(), &gpu, 1);
        return error == 0 ? Result<>() : failed(region, error);
    };
    if (auto filled = fill(); !filled) {
        run.remove();
        return fail(filled.error());
    }
    return run;
}

}  // namespace tessera
