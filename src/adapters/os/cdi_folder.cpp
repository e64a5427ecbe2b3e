#include "adapters/os/cdi_folder.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "adapters/os/text_file.hpp"

namespace tessera {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kShareFile = "tessera.dev-share-";

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Of a spec that needs nothing newer; the oldest with all that we write ourselves.
constexpr std::array kOwnVersion = {0, 6, 0};
using Version = std::array<int, 3>;

// The fields of CDI that are no text (container-device-interface specs-go 1.1.0, config.go; the
// last two until 1.0). Everything else keeps its text, whatever it looks like.
constexpr std::array<std::string_view, 7> kNumbers = {"major", "minor",   "fileMode",      "uid",
                                                      "gid",   "timeout", "additionalGids"};
constexpr std::array<std::string_view, 3> kBooleans = {"enableMonitoring", "enableCMT",
                                                       "enableMBM"};

// CDI specs are YAML or JSON; as JSON is YAML, one reader takes both. `key` is that of the nearest
// map around the node.
Json to_json(const YAML::Node& node, std::string_view key) {
    if (!node.IsDefined()) return nullptr;
    if (node.IsMap()) {
        Json out = Json::object();
        for (const auto& pair : node) {
            const auto name = pair.first.as<std::string>();
            out[name] = to_json(pair.second, name);
        }
        return out;
    }
    if (node.IsSequence()) {
        Json out = Json::array();
        for (const YAML::Node& item : node)
            out.push_back(to_json(item, key));
        return out;
    }
    if (!node.IsScalar()) return nullptr;
    if (std::ranges::find(kNumbers, key) != kNumbers.end()) return node.as<std::int64_t>();
    if (std::ranges::find(kBooleans, key) != kBooleans.end()) return node.as<bool>();
    return node.Scalar();
}

struct VendorDevice {
    std::string name;
    Json edits;
};

struct VendorSpec {
    Version version{};
    Json edits;  // for every device
    std::vector<VendorDevice> devices;
};

// "0.7.0" or "v0.7.0"; zeros when it is neither.
Version parse_version(const std::string& text) {
    Version out{};
    const char* digits = text.c_str() + (text.starts_with('v') ? 1 : 0);
    if (std::sscanf(digits, "%d.%d.%d", &out[0], &out[1], &out[2]) != 3) return {};
    return out;
}

VendorSpec read_spec(const std::string& path, const std::string& kind) {
    VendorSpec out;
    try {
        const YAML::Node spec = YAML::LoadFile(path);
        if (!spec.IsMap() || !spec["kind"] || spec["kind"].as<std::string>() != kind) return {};
        if (spec["cdiVersion"]) out.version = parse_version(spec["cdiVersion"].Scalar());
        out.edits = to_json(spec["containerEdits"], "");
        for (const YAML::Node& device : spec["devices"]) {
            out.devices.push_back(
                {device["name"].as<std::string>(), to_json(device["containerEdits"], "")});
        }
    } catch (const YAML::Exception&) {
        // Somebody else's file; the runtime reports it. Ours are found all the same.
        return {};
    }
    return out;
}

// Of two devices of one name the runtime takes that of the later folder; so do we.
void shadow(std::vector<VendorSpec>& earlier, const VendorSpec& later) {
    for (VendorSpec& spec : earlier) {
        std::erase_if(spec.devices, [&](const VendorDevice& device) {
            return std::ranges::find(later.devices, device.name, &VendorDevice::name) !=
                   later.devices.end();
        });
    }
}

std::vector<VendorSpec> vendor_specs(const CdiFolderOptions& options) {
    std::vector<VendorSpec> specs;
    for (const std::string& folder : options.folders) {
        std::error_code error;
        for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
            const std::string extension = file.path().extension().string();
            if (extension != ".json" && extension != ".yaml" && extension != ".yml") continue;
            // Ours repeat the vendor's, and there may be hundreds.
            if (file.path().filename().string().starts_with(kShareFile)) continue;
            VendorSpec spec = read_spec(file.path().string(), options.vendor_kind);
            shadow(specs, spec);
            specs.push_back(std::move(spec));
        }
    }
    return specs;
}

// Lists grow; of anything else (intelRdt is an object) the last one holds, as in the runtime.
void merge(Json& edits, const Json& more) {
    if (!more.is_object()) return;
    for (const auto& [key, value] : more.items()) {
        if (!value.is_array()) {
            edits[key] = value;
            continue;
        }
        for (const Json& item : value)
            edits[key].push_back(item);
    }
}

// The minors of the cards that a device brings: its nodes /dev/nvidia<minor>.
std::vector<std::string> minors_of(const VendorDevice& device) {
    constexpr std::string_view kCardNode = "/dev/nvidia";
    std::vector<std::string> minors;
    if (!device.edits.is_object()) return minors;
    for (const Json& node : device.edits.value("deviceNodes", Json::array())) {
        const std::string path = node.is_object() ? node.value("path", "") : "";
        if (!path.starts_with(kCardNode)) continue;
        const std::string rest = path.substr(kCardNode.size());
        if (is_number(rest)) minors.push_back(rest);
    }
    return minors;
}

std::string qualified(const CdiFolderOptions& options, const VendorDevice& device) {
    return fmt::format("{}={}", options.vendor_kind, device.name);
}

}  // namespace

std::optional<std::string> CdiFolder::vendor_device(const GpuUuid& uuid, int minor) {
    std::optional<std::string> by_number;
    for (const VendorSpec& spec : vendor_specs(options_)) {
        for (const VendorDevice& device : spec.devices) {
            if (device.name == uuid.str()) return qualified(options_, device);
            // Only plain numbers: a slice of a card (0:1) has the card's node, too.
            if (is_number(device.name) && minors_of(device) == std::vector{std::to_string(minor)})
                by_number = qualified(options_, device);
        }
    }
    return by_number;
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
    Version version = kOwnVersion;
    for (const VendorSpec& spec : vendor_specs(options_)) {
        bool first = true;
        for (const VendorDevice& device : spec.devices) {
            const auto& asked = edits.cdi_devices;
            if (std::ranges::find(asked, qualified(options_, device)) == asked.end()) continue;
            if (first) merge(merged, spec.edits);
            first = false;
            merge(merged, device.edits);
            // What the vendor wrote may need its version, and the runtime reads that one.
            version = std::max(version, spec.version);
        }
    }
    const Json spec = {{"cdiVersion", fmt::format("{}", fmt::join(version, "."))},
                       {"kind", "tessera.dev/share"},
                       {"devices", {{{"name", name}, {"containerEdits", merged}}}}};
    return write_text_file(fmt::format("{}/{}{}.json", options_.dynamic, kShareFile, name),
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
