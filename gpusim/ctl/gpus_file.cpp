#include "gpusim/ctl/gpus_file.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <set>

#include "gpusim/state/size_text.hpp"

namespace gpusim {
namespace {

// Inside this file a mistake in the text is an exception; parse_gpus returns it as an error.
struct Mistake {
    int line;
    std::string text;
};

int line_of(const YAML::Node& node) {
    return node.Mark().line + 1;
}

[[noreturn]] void refuse(const YAML::Node& node, const std::string& field,
                         const std::string& text) {
    throw Mistake{line_of(node), fmt::format("{}: {}", field, text)};
}

std::string scalar(const YAML::Node& node, const std::string& field) {
    if (!node.IsScalar() || node.Scalar().empty()) refuse(node, field, "must be one plain value");
    return node.Scalar();
}

std::uint64_t size(const YAML::Node& node, const std::string& field) {
    const std::string text = scalar(node, field);
    std::uint64_t bytes = 0;
    if (!parse_size(text.c_str(), &bytes)) {
        refuse(node, field,
               fmt::format("\"{}\" is not a size (try 15360MiB, 24GiB or bytes)", text));
    }
    return bytes;
}

// Matches the whole of `text` against a scanf format that ends in "%n".
template <class... Fields>
bool scan(const std::string& text, const char* format, Fields*... fields) {
    int end = -1;
    constexpr int kFields = sizeof...(Fields);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    const int matched = std::sscanf(text.c_str(), format, fields..., &end);
#pragma GCC diagnostic pop
    return matched == kFields && end == static_cast<int>(text.size());
}

void read_model(GpuSpec& gpu, const YAML::Node& node) {
    gpu.model = scalar(node, "model");
    if (gpu.model.size() >= sizeof(Gpu::model)) refuse(node, "model", "is too long (95 bytes)");
}

void read_memory(GpuSpec& gpu, const YAML::Node& node) {
    gpu.memory_bytes = size(node, "memory");
    if (gpu.memory_bytes == 0) refuse(node, "memory", "is zero");
}

void read_reserved(GpuSpec& gpu, const YAML::Node& node) {
    gpu.reserved_bytes = size(node, "reserved");
}

void read_context_overhead(GpuSpec& gpu, const YAML::Node& node) {
    gpu.context_overhead_bytes = size(node, "context_overhead");
}
void read_graph_overhead(GpuSpec& gpu, const YAML::Node& node) {
    gpu.graph_overhead_bytes = size(node, "graph_overhead");
}

// Digits and ns, us, ms or s; "0" needs no unit. From `least` to 10 s, or 0.
std::int64_t duration_ns(const YAML::Node& node, const std::string& field, std::int64_t least) {
    static constexpr struct {
        const char* suffix;
        std::int64_t ns;
    } kUnits[] = {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};
    static constexpr std::int64_t kMost = 10'000'000'000;
    const std::string text = scalar(node, field);
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    // More digits do not fit the limit.
    const std::int64_t count = digits > 0 && digits < 12 ? std::stoll(text.substr(0, digits)) : -1;
    if (count == 0 && digits == text.size()) return 0;
    for (const auto& unit : kUnits) {
        if (count < 0 || count > kMost / unit.ns || text.substr(digits) != unit.suffix) continue;
        if (count == 0 || count * unit.ns >= least) return count * unit.ns;
    }
    refuse(node, field,
           fmt::format("\"{}\" is not a duration from {}us to 10s, or 0 (try 2ms or 270us)", text,
                       least / 1'000));
}

void read_time_slice(GpuSpec& gpu, const YAML::Node& node) {
    gpu.time_slice_ns = duration_ns(node, "time_slice", 10'000);
}

void read_switch_time(GpuSpec& gpu, const YAML::Node& node) {
    gpu.switch_ns = duration_ns(node, "switch_time", 0);
}

void read_uuid(GpuSpec& gpu, const YAML::Node& node) {
    static constexpr std::string_view kShape = "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    gpu.uuid = scalar(node, "uuid");
    bool fits = gpu.uuid.size() == kShape.size();
    for (std::size_t i = 0; fits && i < kShape.size(); i++) {
        char& c = gpu.uuid[i];
        if (kShape[i] != 'x') {
            fits = c == kShape[i];
            continue;
        }
        fits = std::isxdigit(static_cast<unsigned char>(c)) != 0;
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    if (!fits) refuse(node, "uuid", fmt::format("\"{}\" is not like {}", node.Scalar(), kShape));
}

unsigned number(const YAML::Node& node, const std::string& field, unsigned most) {
    const std::string text = scalar(node, field);
    unsigned value = 0;
    if (text.size() > 4 || !scan(text, "%4u%n", &value) || value > most) {
        refuse(node, field, fmt::format("\"{}\" is not a number from 0 to {}", text, most));
    }
    return value;
}

void read_multiprocessors(GpuSpec& gpu, const YAML::Node& node) {
    gpu.multiprocessors = number(node, "multiprocessors", 999);
    if (gpu.multiprocessors == 0) refuse(node, "multiprocessors", "is zero");
}

void read_minor(GpuSpec& gpu, const YAML::Node& node) {
    gpu.minor = number(node, "minor", 255);
}

void read_numa(GpuSpec& gpu, const YAML::Node& node) {
    gpu.numa = number(node, "numa", 63);
}

void read_pcie_switch(GpuSpec& gpu, const YAML::Node& node) {
    gpu.pcie_switch = number(node, "pcie_switch", 255);
}

void read_nvlink(GpuSpec& gpu, const YAML::Node& node) {
    gpu.nvlink = number(node, "nvlink", 255);
}

void read_event_clock(GpuSpec& gpu, const YAML::Node& node) {
    gpu.event_clock_fast_ppm = number(node, "event_clock_fast_ppm", 9999);
}

void read_pci_bus_id(GpuSpec& gpu, const YAML::Node& node) {
    const std::string text = scalar(node, "pci_bus_id");
    if (!scan(text, "%8x:%2x:%2x.0%n", &gpu.pci_domain, &gpu.pci_bus, &gpu.pci_device)) {
        refuse(node, "pci_bus_id", fmt::format("\"{}\" is not like 0000:17:00.0", text));
    }
}

void read_compute_capability(GpuSpec& gpu, const YAML::Node& node) {
    const std::string text = scalar(node, "compute_capability");
    if (!scan(text, "%2d.%1d%n", &gpu.compute_major, &gpu.compute_minor)) {
        refuse(node, "compute_capability", fmt::format("\"{}\" is not like 7.5", text));
    }
}

// The first row whose text the model's name contains. Source: NVIDIA's data sheets.
unsigned multiprocessors_of_model(const std::string& model) {
    static constexpr struct {
        const char* text;
        unsigned count;
    } kModels[] = {{"RTX PRO 6000", 188}, {"B200", 148}, {"H200", 132}, {"H100 PCIe", 114},
                   {"H100", 132},         {"A100", 108}, {"A40", 84},   {"A10", 72},
                   {"L40", 142},          {"L4", 58},    {"V100", 80},  {"T4", 40}};
    for (const auto& row : kModels)
        if (model.find(row.text) != std::string::npos) return row.count;
    return 40;
}

struct Field {
    const char* name;
    bool required;
    void (*read)(GpuSpec&, const YAML::Node&);
};

constexpr Field kFields[] = {
    {"model", true, read_model},
    {"memory", true, read_memory},
    {"reserved", false, read_reserved},
    {"uuid", false, read_uuid},
    {"minor", false, read_minor},
    {"pci_bus_id", false, read_pci_bus_id},
    {"compute_capability", false, read_compute_capability},
    {"multiprocessors", false, read_multiprocessors},
    {"context_overhead", false, read_context_overhead},
    {"graph_overhead", false, read_graph_overhead},
    {"time_slice", false, read_time_slice},
    {"switch_time", false, read_switch_time},
    {"numa", false, read_numa},
    {"pcie_switch", false, read_pcie_switch},
    {"nvlink", false, read_nvlink},
    {"event_clock_fast_ppm", false, read_event_clock},
};

// Generated UUIDs must not change between runs, because manifests and tests name them. splitmix64
// over FNV-1a.
std::string make_uuid(const std::string& seed, unsigned index) {
    std::uint64_t state = 0xcbf29ce484222325;
    for (const char c : seed)
        state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    state += index * std::uint64_t{0xd1342543de82ef95};
    std::uint64_t words[2];
    for (std::uint64_t& word : words) {
        state += 0x9e3779b97f4a7c15;
        word = state;
        word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
        word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
        word ^= word >> 31;
    }
    return fmt::format("GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", words[0] >> 32,
                       (words[0] >> 16) & 0xffff, words[0] & 0xffff, words[1] >> 48,
                       words[1] & 0xffffffffffff);
}

// Rejects keys outside the table and keys that appear twice, then reads the rest in the table's
// order.
void read_fields(GpuSpec& gpu, const YAML::Node& node) {
    if (!node.IsMap()) refuse(node, "gpus", "must be a list of maps");
    std::set<std::string> seen;
    for (const auto& pair : node) {
        const std::string key = pair.first.Scalar();
        const Field* known = nullptr;
        for (const Field& field : kFields) {
            if (key == field.name) known = &field;
        }
        if (known == nullptr) refuse(pair.first, key, "unknown key");
        if (!seen.insert(key).second) refuse(pair.first, key, "appears twice");
        known->read(gpu, pair.second);
    }
    for (const Field& field : kFields) {
        if (field.required && !seen.contains(field.name)) refuse(node, field.name, "is missing");
    }
    if (gpu.multiprocessors == 0) gpu.multiprocessors = multiprocessors_of_model(gpu.model);
    if (gpu.reserved_bytes >= gpu.memory_bytes) refuse(node, "reserved", "leaves no memory");
    if (gpu.switch_ns > 0 && gpu.time_slice_ns == 0)
        refuse(node["switch_time"], "switch_time", "needs time_slice: add it (2ms)");
    if (gpu.switch_ns > gpu.time_slice_ns)
        refuse(node["switch_time"], "switch_time", "is longer than time_slice");
}

// Values that must differ from GPU to GPU.
struct Taken {
    std::set<std::string> uuids;
    std::set<unsigned> minors;
    std::set<std::string> bus_ids;

    void add(const GpuSpec& gpu, const YAML::Node& node) {
        if (!uuids.insert(gpu.uuid).second) {
            refuse(node["uuid"] ? node["uuid"] : node, "uuid",
                   fmt::format("another GPU has {}", gpu.uuid));
        }
        if (!minors.insert(gpu.minor).second) {
            refuse(node["minor"] ? node["minor"] : node, "minor",
                   fmt::format("another GPU has {}", gpu.minor));
        }
        const std::string bus_id =
            fmt::format("{:04x}:{:02x}:{:02x}.0", gpu.pci_domain, gpu.pci_bus, gpu.pci_device);
        if (!bus_ids.insert(bus_id).second) {
            refuse(node["pci_bus_id"] ? node["pci_bus_id"] : node, "pci_bus_id",
                   fmt::format("another GPU has {}", bus_id));
        }
    }
};

std::vector<GpuSpec> read_gpus(const YAML::Node& root, std::string seed) {
    if (!root.IsMap()) throw Mistake{1, "gpus: is missing"};
    std::set<std::string> seen;
    for (const auto& pair : root) {
        const std::string key = pair.first.Scalar();
        if (key != "gpus" && key != "seed") refuse(pair.first, key, "unknown key");
        if (!seen.insert(key).second) refuse(pair.first, key, "appears twice");
    }
    if (seed.empty() && root["seed"]) seed = scalar(root["seed"], "seed");
    const YAML::Node list = root["gpus"];
    if (!list) throw Mistake{1, "gpus: is missing"};
    if (!list.IsSequence() || list.size() == 0) refuse(list, "gpus", "must have at least one GPU");
    if (list.size() > kMaxGpus) {
        refuse(list, "gpus", fmt::format("{} GPUs, at most {}", list.size(), kMaxGpus));
    }
    std::vector<GpuSpec> gpus;
    Taken taken;
    for (const YAML::Node& node : list) {
        const auto index = static_cast<unsigned>(gpus.size());
        GpuSpec gpu;
        gpu.uuid = make_uuid(seed, index);
        gpu.minor = index;
        gpu.pci_bus = 16 + index;
        read_fields(gpu, node);
        taken.add(gpu, node);
        gpus.push_back(gpu);
    }
    return gpus;
}

}  // namespace

tl::expected<std::vector<GpuSpec>, std::string> parse_gpus(const GpusText& input) {
    try {
        return read_gpus(YAML::Load(input.text), input.seed);
    } catch (const Mistake& mistake) {
        return tl::unexpected(fmt::format("{}:{}: {}", input.name, mistake.line, mistake.text));
    } catch (const YAML::Exception& error) {
        return tl::unexpected(fmt::format("{}:{}: {}", input.name, error.mark.line + 1, error.msg));
    }
}

}  // namespace gpusim
