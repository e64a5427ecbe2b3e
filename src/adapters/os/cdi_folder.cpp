#include "adapters/os/cdi_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kShareFile = "tessera.dev-share-";

// CDI specs are YAML or JSON; as JSON is YAML, one reader takes both. Scalars keep their text:
// whether one is a number matters only for device nodes, whose numeric fields are named here.
bool is_number_field(const std::string& key) {
    return key == "major" || key == "minor" || key == "fileMode" || key == "uid" || key == "gid" ||
           key == "timeout" || key == "additionalGIDs";
}

Json to_json(const YAML::Node& node, bool numbers) {
    if (node.IsMap()) {
        Json out = Json::object();
        for (const auto& pair : node) {
            const auto key = pair.first.as<std::string>();
            out[key] = to_json(pair.second, is_number_field(key));
        }
        return out;
    }
    if (node.IsSequence()) {
        Json out = Json::array();
        for (const YAML::Node& item : node)
            out.push_back(to_json(item, numbers));
        return out;
    }
    if (!node.IsScalar()) return nullptr;
    if (numbers) return node.as<std::int64_t>();
    return node.as<std::string>();
}

struct VendorDevice {
    std::string name;
    Json spec_edits;  // of the whole spec
    Json edits;       // of the device
};

std::vector<VendorDevice> read_spec(const std::string& path, const std::string& kind) {
    std::vector<VendorDevice> devices;
    try {
        const YAML::Node spec = YAML::LoadFile(path);
        if (!spec.IsMap() || !spec["kind"] || spec["kind"].as<std::string>() != kind)
            return devices;
        const Json common =
            spec["containerEdits"] ? to_json(spec["containerEdits"], false) : Json::object();
        for (const YAML::Node& device : spec["devices"]) {
            devices.push_back({device["name"].as<std::string>(), common,
                               to_json(device["containerEdits"], false)});
        }
    } catch (const YAML::Exception&) {
        // Somebody else's file; the runtime reports it. Ours are found all the same.
        devices.clear();
    }
    return devices;
}

std::vector<VendorDevice> vendor_devices(const CdiFolderOptions& options) {
    std::vector<VendorDevice> devices;
    for (const std::string& folder : options.folders) {
        std::error_code error;
        for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
            const std::string extension = file.path().extension().string();
            if (extension != ".json" && extension != ".yaml" && extension != ".yml") continue;
            for (auto& device : read_spec(file.path().string(), options.vendor_kind)) {
                devices.push_back(std::move(device));
            }
        }
    }
    return devices;
}

// Appends the lists of `more`; edits are lists throughout.
void merge(Json& edits, const Json& more) {
    for (const auto& [key, list] : more.items()) {
        if (!list.is_array()) continue;
        for (const Json& item : list)
            edits[key].push_back(item);
    }
}

std::string qualified(const CdiFolderOptions& options, const VendorDevice& device) {
    return fmt::format("{}={}", options.vendor_kind, device.name);
}

Result<> write_whole(const std::string& path, const std::string& text) {
    const std::string temporary = path + ".tmp";
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const bool written =
        fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const bool closed = fd >= 0 && ::close(fd) == 0;
    if (written && closed && ::rename(temporary.c_str(), path.c_str()) == 0) return {};
    const std::string why = std::strerror(errno);
    ::unlink(temporary.c_str());
    return fail(Code::unavailable, fmt::format("{}: {}", path, why));
}

}  // namespace

std::optional<std::string> CdiFolder::vendor_device(const std::string& uuid, int index) {
    const auto devices = vendor_devices(options_);
    for (const std::string& wanted : {uuid, std::to_string(index)}) {
        for (const VendorDevice& device : devices) {
            if (device.name == wanted) return qualified(options_, device);
        }
    }
    return std::nullopt;
}

Result<> CdiFolder::write_share(const std::string& name, const ContainerEdits& edits) {
    Json merged = Json::object();
    for (const auto& [variable, value] : edits.env)
        merged["env"].push_back(variable + "=" + value);
    bool first = true;
    for (const VendorDevice& device : vendor_devices(options_)) {
        const auto& asked = edits.cdi_devices;
        if (std::ranges::find(asked, qualified(options_, device)) == asked.end()) continue;
        if (first) merge(merged, device.spec_edits);
        first = false;
        merge(merged, device.edits);
    }
    const Json spec = {{"cdiVersion", "0.6.0"},
                       {"kind", "tessera.dev/share"},
                       {"devices", {{{"name", name}, {"containerEdits", merged}}}}};
    return write_whole(fmt::format("{}/{}{}.json", options_.dynamic, kShareFile, name),
                       spec.dump());
}

void CdiFolder::keep_only_shares(const std::set<std::string>& names) {
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(options_.dynamic, error)) {
        const std::string stem = file.path().stem().string();
        if (!stem.starts_with(kShareFile) || names.contains(stem.substr(kShareFile.size())))
            continue;
        std::filesystem::remove(file.path(), error);
    }
}

}  // namespace tessera
