#include "adapters/os/cdi_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "adapters/os/text_file.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kShareFile = "tessera.dev-share-";

// The version of our specifications if nothing needs a newer one: the oldest with all fields that
// we write.
constexpr CdiVersion kOwnVersion = {0, 6, 0};

// A vendor's specification has about ten kilobytes per GPU.
constexpr std::size_t kMostSpecBytes = std::size_t{8} << 20;

constexpr std::size_t kMostProblems = 2;

std::int64_t nanoseconds_of(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<fs::path> files_of(const std::string& folder) {
    std::vector<fs::path> out = paths_in(folder);
    std::ranges::sort(out);
    return out;
}

// Of two devices with the same name the runtime uses that of the later folder, and so do we.
void shadow(std::vector<CdiSpec>& earlier, const CdiSpec& later) {
    for (CdiSpec& spec : earlier) {
        std::erase_if(spec.devices, [&](const CdiSpecDevice& device) {
            return std::ranges::find(later.devices, device.name, &CdiSpecDevice::name) !=
                   later.devices.end();
        });
    }
}

// Devices that two files of one folder define. The runtime uses neither, nor one of another folder.
class Duplicates {
  public:
    void next_folder() { file_of_.clear(); }
    // Returns the fault if a device has the same name as another one in this folder; else an empty
    // text.
    std::string add(const CdiSpec& spec, const std::string& file) {
        std::string problem;
        for (const CdiSpecDevice& device : spec.devices) {
            const auto [first, is_new] = file_of_.try_emplace(device.name, file);
            if (is_new) continue;
            names_.insert(device.name);
            problem = fmt::format(
                "{} and {} define the same devices, {} for one, so the runtime "
                "uses neither's: remove one of the files",
                first->second, file, device.name);
        }
        return problem;
    }
    void remove_from(std::vector<CdiSpec>& specs) const {
        for (CdiSpec& spec : specs) {
            std::erase_if(spec.devices, [&](const CdiSpecDevice& device) {
                return names_.contains(device.name);
            });
        }
    }

  private:
    std::map<std::string, std::string> file_of_;  // by device, for this folder
    std::set<std::string> names_;
};

// The minor numbers of a device's GPUs, from its nodes /dev/nvidia<minor>.
std::vector<std::string> minors_of(const CdiSpecDevice& device) {
    constexpr std::string_view kGpuNode = "/dev/nvidia";
    std::vector<std::string> minors;
    for (const std::string& path : cdi_edit_fields(device.edits, "deviceNodes", "path")) {
        if (!path.starts_with(kGpuNode)) continue;
        const std::string rest = path.substr(kGpuNode.size());
        if (is_number(rest)) minors.push_back(rest);
    }
    return minors;
}

std::string qualified(const CdiFolderOptions& options, const CdiSpecDevice& device) {
    return fmt::format("{}={}", options.vendor_kind, device.name);
}

CdiDevice described(const CdiFolderOptions& options, const CdiSpecDevice& device) {
    return {.name = qualified(options, device),
            .device_nodes = cdi_edit_fields(device.edits, "deviceNodes", "path"),
            .mounts = cdi_edit_fields(device.edits, "mounts", "containerPath")};
}

}  // namespace

CdiFolder::Stamp CdiFolder::stamp_of(const struct stat& about) {
    return {.device = about.st_dev,
            .inode = about.st_ino,
            .written_ns = nanoseconds_of(about.st_mtim),
            .changed_ns = nanoseconds_of(about.st_ctim),
            .size = about.st_size};
}

// An unreadable file may become readable without any change of its stamp.
CdiFolder::SharedSpec CdiFolder::read_cached(const std::string& path, const Stamp& stamp) {
    {
        const MutexLock lock(mutex_);
        const auto known = cache_.find(path);
        if (known != cache_.end() && known->second.stamp == stamp) return known->second.spec;
    }
    const auto text = read_text_file_up_to(path, kMostSpecBytes);
    if (!text) return std::make_shared<const Result<CdiSpec>>(fail(text.error()));
    auto spec = std::make_shared<const Result<CdiSpec>>(read_cdi_spec(*text));
    const MutexLock lock(mutex_);
    cache_.insert_or_assign(path, Cached{stamp, spec});
    return spec;
}

CdiFolder::Found CdiFolder::vendor_specs() {
    Found found;
    std::set<std::string> present;
    Duplicates duplicates;
    for (const std::string& folder : options_.folders) {
        duplicates.next_folder();
        for (const fs::path& file : files_of(folder)) {
            // The runtimes read no other extensions, such as .yml.
            const std::string extension = file.extension().string();
            if (extension != ".json" && extension != ".yaml") continue;
            // Our files repeat the vendor's edits, and there may be hundreds of them.
            if (file.filename().string().starts_with(kShareFile)) continue;
            struct stat about = {};
            // Reading a pipe or a device would never end.
            if (stat(file.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
            present.insert(file.string());
            const SharedSpec shared = read_cached(file.string(), stamp_of(about));
            const Result<CdiSpec>& spec = *shared;
            if (!spec) {
                found.problems.push_back(
                    fmt::format("{} cannot be used: {}", file.string(), spec.error().text));
            } else if (spec->kind != options_.vendor_kind) {
                found.problems.push_back(
                    fmt::format("{} is of kind {}", file.string(), spec->kind));
            } else {
                if (std::string problem = duplicates.add(*spec, file.string()); !problem.empty())
                    found.problems.push_back(std::move(problem));
                shadow(found.specs, *spec);
                found.specs.push_back(*spec);
            }
        }
    }
    duplicates.remove_from(found.specs);
    const MutexLock lock(mutex_);
    std::erase_if(cache_, [&](const auto& entry) { return !present.contains(entry.first); });
    return found;
}

Error CdiFolder::not_found(const GpuUuid& uuid, const Found& found) const {
    std::string text = fmt::format("no CDI device of kind {} for {} in {}", options_.vendor_kind,
                                   uuid.str(), fmt::join(options_.folders, " or "));
    // The text becomes a pod's event and part of the Node's report; both are limited in size.
    const std::size_t named = std::min(found.problems.size(), kMostProblems);
    for (std::size_t i = 0; i < named; i++)
        text += "; " + found.problems[i];
    if (named < found.problems.size())
        text += fmt::format("; and {} more files", found.problems.size() - named);
    return {Code::not_found, std::move(text)};
}

Result<CdiDevice> CdiFolder::vendor_device(const GpuUuid& uuid, int minor) {
    const Found found = vendor_specs();
    std::optional<CdiDevice> by_number;
    for (const CdiSpec& spec : found.specs) {
        for (const CdiSpecDevice& device : spec.devices) {
            if (device.name == uuid.str()) return described(options_, device);
            // Only plain numbers, because a part of a GPU (0:1) has the GPU's device node, too.
            if (is_number(device.name) && minors_of(device) == std::vector{std::to_string(minor)})
                by_number = described(options_, device);
        }
    }
    if (by_number) return *std::move(by_number);
    return fail(not_found(uuid, found));
}

Result<> CdiFolder::write_share(const std::string& name, const ContainerEdits& edits) {
    Json merged = Json::object();
    for (const auto& [variable, value] : edits.env)
        merged["env"].push_back(fmt::format("{}={}", variable, value));
    for (const FileMount& file : edits.mounts) {
        merged["mounts"].push_back({{"hostPath", file.source},
                                    {"containerPath", file.destination},
                                    {"options", file.options()}});
    }
    CdiVersion version = kOwnVersion;
    for (const CdiSpec& spec : vendor_specs().specs) {
        bool first = true;
        for (const CdiSpecDevice& device : spec.devices) {
            const auto& asked = edits.cdi_devices;
            if (std::ranges::find(asked, qualified(options_, device)) == asked.end()) continue;
            if (first) merge_cdi_edits(merged, spec.edits);
            first = false;
            merge_cdi_edits(merged, device.edits);
            // The vendor's edits may need the vendor's version, and the runtime supports that one.
            version = std::max(version, spec.version);
        }
    }
    const Json spec = {{"cdiVersion", fmt::format("{}", fmt::join(version, "."))},
                       {"kind", "tessera.dev/share"},
                       {"devices", {{{"name", name}, {"containerEdits", merged}}}}};
    // Invalid UTF-8 can only come from the pod; the vendor's text was checked when it was read.
    return write_text_file(fmt::format("{}/{}{}.json", options_.dynamic, kShareFile, name),
                           spec.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void CdiFolder::keep_only_shares(const std::set<std::string>& names) {
    for (const fs::path& file : files_of(options_.dynamic)) {
        const std::string stem = file.stem().string();
        if (!stem.starts_with(kShareFile) || names.contains(stem.substr(kShareFile.size())))
            continue;
        std::error_code error;
        fs::remove(file, error);
    }
}

}  // namespace tessera
