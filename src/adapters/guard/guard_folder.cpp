#include "adapters/guard/guard_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "adapters/guard/guard_units.hpp"
#include "adapters/guard/host_facts.hpp"
#include "adapters/guard/open_region.hpp"
#include "adapters/guard/region_use.hpp"
#include "adapters/os/plain_file.hpp"
#include "adapters/os/process_mounts.hpp"
#include "adapters/os/text_file.hpp"
#include "base/log.hpp"
#include "domain/container_start/mount_conflicts.hpp"
#include "guard/region/create.hpp"
#include "guard/region/layout.hpp"
#include "guard/region/life.hpp"

namespace fs = std::filesystem;

namespace tessera {
namespace {

constexpr const char* kLibrary = "libtessera-guard.so";
constexpr const char* kProbe = "tessera-mps-probe";
constexpr const char* kPreload = "ld.so.preload";
constexpr const char* kPods = "pods";
constexpr const char* kPodName = "pod";

// The folder of the library and the region in a container.
constexpr const char* kInContainer = "/usr/local/tessera";

// A pod's own list of libraries to preload has a few lines.
constexpr std::size_t kMostPreloadBytes = std::size_t{64} << 10;

std::string in_container(std::string_view name) {
    return fmt::format("{}/{}", kInContainer, name);
}

// Creates a folder and its parents. Only root may enter it: containers get single files.
Result<> make_folder(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (!error && chmod(path.c_str(), 0700) == 0) return {};
    if (!error) error.assign(errno, std::generic_category());
    return fail(Code::unavailable,
                fmt::format("{} cannot be made: {}", path.string(), error.message()));
}

// Empty for a region that an older agent created.
PodName read_pod_name(const fs::path& path) {
    const auto text = read_text_file(path);
    const std::size_t slash = text ? text->find('/') : std::string::npos;
    if (slash == std::string::npos) return {};
    return {text->substr(0, slash), text->substr(slash + 1, text->find('\n') - slash - 1)};
}

// A region with limits that cannot be opened is of another release; one without limits is being
// created.
void add_usage(const RegionPath& region, const TimeSharer& sharer, ShareUsage& all) {
    std::error_code error;
    const bool is_there = fs::exists(region.path / guard::kLimitsName, error);
    const auto opened = OpenRegion::open(region.path);
    if (opened == nullptr) {
        if (is_there) all.unreadable.insert(PodUid(region.pod));
        return;
    }
    const PodName name = read_pod_name(region.path / kPodName);
    for (unsigned i = 0; i < opened->limits().gpu_count; i++) {
        ShareUse use = read_use(*opened, static_cast<int>(i));
        use.pod = PodUid(region.pod);
        use.name = name;
        use.container = region.container;
        const std::string container = fs::path(region.pod) / region.container;
        use.had = sharer.had(container, use.gpu);
        use.in_flight = sharer.busy(container, use.gpu);
        all.uses.push_back(std::move(use));
    }
}

}  // namespace

GuardFolder::GuardFolder(GuardFolderOptions options, Clock& clock)
    : options_(std::move(options)),
      sharer_(pods_folder(), clock),
      limits_(pods_folder(), [this] { sharer_.look_again(); }) {}

Result<> GuardFolder::install() {
    const fs::path folder = options_.folder;
    TRY_VOID(make_folder(folder / kPods));
    TRY_VOID(make_folder(folder));
    const bool has_selinux = options_.has_selinux.value_or(enforces_selinux());
    // The agent continues, because whole GPUs need no guard.
    if (auto checked = check_host(read_host_facts(folder, has_selinux)); !checked) {
        fault_ = checked.error().text;
        log_event(Event::guard_unusable, {{"reason", fault_}});
    }
    struct statvfs about = {};
    if (statvfs(folder.c_str(), &about) == 0 && (about.f_flag & ST_NOEXEC) != 0) {
        return fail(Code::invalid_argument,
                    fmt::format("guard_folder: {} is mounted noexec, so no container could load "
                                "the guard from there; choose another folder",
                                folder.string()));
    }
    std::error_code error;
    if (!fs::is_regular_file(options_.library, error)) {
        return fail(Code::not_found,
                    fmt::format("guard_library: there is no file {}", options_.library));
    }
    TRY(const std::string library, read_text_file(options_.library));
    TRY_VOID(write_text_file(folder / kLibrary, library));
    TRY_VOID(install_probe());
    return write_text_file(folder / kPreload, fmt::format("{}/{}\n", kInContainer, kLibrary));
}

// Containers run it from the node's file.
Result<> GuardFolder::install_probe() const {
    std::error_code error;
    fs::remove(probe(), error);
    const fs::path own = fs::path(options_.library).parent_path() / kProbe;
    if (!fs::is_regular_file(own, error)) return {};
    TRY(const std::string program, read_text_file(own));
    TRY_VOID(write_text_file(probe(), program));
    fs::permissions(probe(), fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec,
                    fs::perm_options::add, error);
    if (!error) return {};
    return fail(Code::unavailable, fmt::format("{}: {}", probe().string(), error.message()));
}

fs::path GuardFolder::probe() const {
    return fs::path(options_.folder) / kProbe;
}

fs::path GuardFolder::pods_folder() const {
    return fs::path(options_.folder) / kPods;
}

fs::path GuardFolder::region_of(const PodUid& pod, const std::string& container) const {
    return pods_folder() / pod.str() / container;
}

std::string GuardFolder::fault(ShareResource) const {
    return fault_;
}

Result<> GuardFolder::can_enforce(ShareResource resource, const EnforcedContainer&,
                                  const std::vector<EnforcedShare>& shares) const {
    if (!fault_.empty()) return fail(Code::unsupported, fault_);
    if (resource == ShareResource::compute && std::ranges::any_of(shares, &EnforcedShare::mps))
        return fail(Code::unsupported, "the pod asks for MPS (tessera.dev/isolation)");
    return {};
}

Result<ContainerEdits> GuardFolder::prepare(const EnforcedContainer& container,
                                            const std::vector<EnforcedShare>& shares,
                                            ShareResources what) {
    const fs::path region = region_of(container.pod, container.container);
    TRY_VOID(make_folder(region));
    TRY(const fs::path preload, preload_list_for(container));
    TRY_VOID(write_text_file(region / kPodName, container.name.str() + "\n"));
    TRY_VOID(write_enforced(region, what));
    std::vector<guard::RegionGpu> gpus;
    gpus.reserve(shares.size());
    for (const EnforcedShare& requested : shares) {
        const EnforcedShare share = as_enforced(requested, what);
        gpus.push_back(
            {.uuid = requested.gpu.str().c_str(),
             .memory_bytes = static_cast<std::uint64_t>(share.memory.count),
             .context_bytes = 0,
             .cores = millionths_of(share.cores),
             .cores_limit = millionths_of(share.cores_limit),
             .most_multiprocessors = static_cast<std::uint32_t>(share.most_multiprocessors)});
    }
    const int error =
        guard::create_region(region.c_str(), gpus.data(), static_cast<int>(gpus.size()));
    if (error != 0) {
        return fail(Code::unavailable,
                    fmt::format("the guard's region {} cannot be created, so the container's "
                                "share cannot be enforced: {}",
                                region.string(), std::strerror(error)));
    }
    sharer_.look_again();
    return ContainerEdits{.env = {}, .cdi_devices = {}, .mounts = mounts_of(container, preload)};
}

ShareResources GuardFolder::enforces(const PodUid& pod, const std::string& container) const {
    const fs::path region = region_of(pod, container);
    std::error_code error;
    return fs::exists(region / guard::kLimitsName, error) ? read_enforced(region)
                                                          : ShareResources{};
}

void GuardFolder::release(const PodUid& pod, const std::string& container) {
    std::error_code error;
    fs::remove_all(region_of(pod, container), error);
    sharer_.look_again();
}

// One list for all containers. If the pod has its own list, a list with the lines of both: ours
// come first, so that the guard is loaded before the pod's libraries.
Result<fs::path> GuardFolder::preload_list_for(const EnforcedContainer& container) const {
    fs::path common = fs::path(options_.folder) / kPreload;
    fs::path merged = region_of(container.pod, container.container) / kPreload;
    if (container.preload_list.empty()) {
        std::error_code error;
        fs::remove(merged, error);  // of an earlier start
        return common;
    }
    auto theirs = read_plain_file(container.preload_list, kMostPreloadBytes);
    if (!theirs) {
        Error error = theirs.error().in("the pod's list of libraries to preload");
        if (error.code == Code::not_found) {
            error.text +=
                ". The folders of --preload-merge-from are the node's: mount each into "
                "the agent's pod at the same path, read-only (docs/limits.md)";
        }
        return fail(std::move(error));
    }
    TRY(const std::string ours, read_text_file(common));
    TRY_VOID(write_text_file(merged, ours + *theirs));
    return merged;
}

std::vector<FileMount> GuardFolder::mounts_of(const EnforcedContainer& container,
                                              const fs::path& preload) const {
    const fs::path region = region_of(container.pod, container.container);
    return {
        {.source = fs::path(options_.folder) / kLibrary, .destination = in_container(kLibrary)},
        {.source = region / guard::kLimitsName, .destination = in_container(guard::kLimitsName)},
        {.source = region / guard::kAccountsName,
         .destination = in_container(guard::kAccountsName),
         .read_only = false},
        {.source = preload, .destination = std::string(kPreloadList)},
        {.source = preload, .destination = std::string(kNixPreloadList)},
    };
}

std::vector<std::string> GuardFolder::mount_points() const {
    std::vector<std::string> points;
    for (const FileMount& mount : mounts_of({}, {}))
        points.push_back(mount.destination);
    return points;
}

bool GuardFolder::is_ours(const std::string& source) const {
    return is_at_or_below(normalized_path(source), normalized_path(options_.folder));
}

Result<> GuardFolder::verify(const EnforcedContainer& container, std::int64_t pid) const {
    if (pid <= 0) {
        return fail(Code::unavailable, fmt::format("container {}: the runtime names no process of "
                                                   "it, so its mounts cannot be checked",
                                                   container.container));
    }
    auto seen = ProcessMounts::read(pid);
    if (!seen && seen.error().code == Code::conflict)
        return fail(seen.error().in("container " + container.container));
    if (!seen) return fail(seen.error());
    const fs::path region = region_of(container.pod, container.container);
    std::error_code error;
    const bool is_merged = fs::exists(region / kPreload, error);
    return seen->check(
        mounts_of(container, (is_merged ? region : fs::path(options_.folder)) / kPreload),
        container.container, "which enforces its GPU share");
}

std::optional<std::string> GuardFolder::container_of(const PodUid& pod, std::int64_t pid) const {
    const auto seen = ProcessMounts::read(pid);
    if (!seen) return std::nullopt;
    for (const fs::path& region : paths_in(pods_folder() / pod.str())) {
        if (seen->has(region / guard::kAccountsName)) return region.filename().string();
    }
    return std::nullopt;
}

ShareUsage GuardFolder::usage() const {
    ShareUsage all;
    for_each_region(pods_folder(),
                    [&](const RegionPath& region) { add_usage(region, sharer_, all); });
    return all;
}

std::set<PodUid> GuardFolder::pods() const {
    std::set<PodUid> pods;
    for (const fs::path& pod : paths_in(pods_folder()))
        pods.insert(PodUid(pod.filename().string()));
    return pods;
}

void GuardFolder::cleanup(const PodUid& pod) {
    std::error_code error;
    fs::remove_all(pods_folder() / pod.str(), error);
    sharer_.look_again();
}

bool GuardFolder::is_in_use(const PodUid& pod) const {
    bool is_used = false;
    for_each_region(pods_folder(), [&](const RegionPath& region) {
        if (PodUid(region.pod) != pod) return;
        // Not through OpenRegion, because a region of another release is in use, too.
        const int accounts =
            open((region.path / guard::kAccountsName).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        // Only a missing file means that the region is not in use; other errors, such as too many
        // open files, do not.
        if (accounts < 0) {
            is_used |= errno != ENOENT;
            return;
        }
        is_used |= guard::is_anyone_in(accounts);
        close(accounts);
    });
    return is_used;
}

Result<bool> GuardFolder::update(const PodUid& pod, const std::string& container,
                                 const std::vector<EnforcedShare>& shares) {
    return limits_.change(pod, container, shares);
}

}  // namespace tessera
