#include "adapters/os/cdi_spec.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "domain/container_start/runtime_support.hpp"

namespace tessera {
namespace {

using Json = nlohmann::json;

// The fields of CDI that are no text (container-device-interface specs-go 1.1.0, config.go; the
// last two until 1.0). All other values stay text, whatever they look like.
constexpr std::array<std::string_view, 7> kNumbers = {"major", "minor",   "fileMode",      "uid",
                                                      "gid",   "timeout", "additionalGids"};
constexpr std::array<std::string_view, 3> kBooleans = {"enableMonitoring", "enableCMT",
                                                       "enableMBM"};

// The lists of containerEdits, and the text fields of their entries that we read, or that a runtime
// needs. A runtime ignores a file in which one of them has another form, and so do we.
struct EditList {
    std::string_view name;
    bool has_maps = true;  // its entries are maps
    std::array<std::string_view, 2> texts = {};
};
constexpr std::array<EditList, 6> kLists = {{
    {.name = "env", .has_maps = false},
    {.name = "additionalGids", .has_maps = false},
    {.name = "deviceNodes", .texts = {"path", "hostPath"}},
    {.name = "netDevices", .texts = {"hostInterfaceName", "name"}},
    {.name = "hooks", .texts = {"hookName", "path"}},
    {.name = "mounts", .texts = {"hostPath", "containerPath"}},
}};

void check_entry(const EditList& list, const Json& entry) {
    const bool is_scalar = !entry.is_structured() && !entry.is_null();
    if (list.has_maps ? !entry.is_object() : !is_scalar) {
        throw std::invalid_argument(fmt::format("an entry of containerEdits.{} is not a {}",
                                                list.name, list.has_maps ? "map" : "text"));
    }
    if (!list.has_maps) return;
    for (const std::string_view name : list.texts) {
        const auto text = entry.find(name);
        if (text != entry.end() && !text->is_string() && !text->is_null()) {
            throw std::invalid_argument(
                fmt::format("containerEdits.{}.{} is not a text", list.name, name));
        }
    }
}

// A vendor's file has some hundred values. More come from aliases of aliases, which grow without
// limit.
constexpr int kMostNodes = 200'000;

// Converts YAML, which includes JSON, to JSON. Throws the exceptions of the libraries, and
// std::length_error.
class Converter {
  public:
    // `key` is the key of the nearest map around the node.
    Json to_json(const YAML::Node& node, std::string_view key) {
        if (++nodes_ > kMostNodes) throw std::length_error("it has too many values");
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

    // containerEdits: an object of lists and objects, or nothing. A field without a value counts as
    // missing, as in the runtimes.
    Json edits(const YAML::Node& node) {
        Json out = to_json(node, "");
        if (out.is_null()) return out;
        if (!out.is_object()) throw std::invalid_argument("containerEdits is not a map");
        for (auto at = out.begin(); at != out.end();)
            at = at->is_null() ? out.erase(at) : std::next(at);
        for (const EditList& list : kLists) {
            const auto found = out.find(list.name);
            if (found == out.end()) continue;
            if (!found->is_array()) {
                throw std::invalid_argument(
                    fmt::format("containerEdits.{} is not a list", list.name));
            }
            for (const Json& entry : *found)
                check_entry(list, entry);
        }
        // Text that is not UTF-8 cannot be written later.
        (void)out.dump();
        return out;
    }

  private:
    int nodes_ = 0;
};

// "0.7.0" or "v0.7.0"; zeros for any other text.
CdiVersion parse_version(const std::string& text) {
    CdiVersion out{};
    const char* digits = text.c_str() + (text.starts_with('v') ? 1 : 0);
    if (std::sscanf(digits, "%d.%d.%d", &out[0], &out[1], &out[2]) != 3) return {};
    return out;
}

CdiSpec convert(const YAML::Node& node) {
    if (!node.IsMap() || !node["kind"]) throw std::invalid_argument("it has no kind");
    Converter converter;
    CdiSpec out;
    out.kind = node["kind"].as<std::string>();
    if (!is_cdi_kind(out.kind)) throw std::invalid_argument("its kind is not vendor/class");
    if (node["cdiVersion"]) out.version = parse_version(node["cdiVersion"].as<std::string>());
    out.edits = converter.edits(node["containerEdits"]);
    for (const YAML::Node& device : node["devices"]) {
        if (!device.IsMap()) throw std::invalid_argument("a device is not a map");
        out.devices.push_back(
            {device["name"].as<std::string>(), converter.edits(device["containerEdits"])});
    }
    return out;
}

}  // namespace

Result<CdiSpec> read_cdi_spec(const std::string& text) {
    try {
        return convert(YAML::Load(text));
    } catch (const std::exception& error) {  // of yaml-cpp, of nlohmann-json, and our own
        std::string why = error.what();
        std::ranges::replace(why, '\n', ' ');
        return fail(Code::invalid_argument, fmt::format("not a CDI specification: {}", why));
    }
}

void merge_cdi_edits(Json& edits, const Json& more) {
    if (!more.is_object()) return;
    for (const auto& [key, value] : more.items()) {
        Json& there = edits[key];
        if (!there.is_array()) {
            there = value;
        } else if (value.is_array()) {
            for (const Json& item : value)
                there.push_back(item);
        }
    }
}

std::vector<std::string> cdi_edit_fields(const Json& edits, std::string_view list,
                                         std::string_view field) {
    std::vector<std::string> out;
    if (!edits.is_object()) return out;
    const auto entries = edits.find(list);
    if (entries == edits.end() || !entries->is_array()) return out;
    for (const Json& entry : *entries) {
        if (!entry.is_object()) continue;
        const auto value = entry.find(field);
        if (value != entry.end() && value->is_string()) out.push_back(value->get<std::string>());
    }
    return out;
}

}  // namespace tessera
