#include "gpusim/ctl/cards_file.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cctype>
#include <cstdio>
#include <set>

#include "gpusim/state/size_text.hpp"

namespace gpusim {
namespace {

// Inside this file a mistake in the text is an exception; parse_cards turns it into its result.
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
    if (!node.IsScalar() || node.Scalar().empty()) refuse(node, field, "wants one plain value");
    return node.Scalar();
}

std::uint64_t size(const YAML::Node& node, const std::string& field) {
    const std::string text = scalar(node, field);
    std::uint64_t bytes = 0;
    if (!parse_size(text.c_str(), &bytes)) {
        refuse(node, field, fmt::format("\"{}\" is no size (try 15360MiB, 24GiB or bytes)", text));
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

void read_model(CardSpec& card, const YAML::Node& node) {
    card.model = scalar(node, "model");
    if (card.model.size() >= sizeof(Card::model)) refuse(node, "model", "is too long (95 bytes)");
}

void read_memory(CardSpec& card, const YAML::Node& node) {
    card.memory_bytes = size(node, "memory");
    if (card.memory_bytes == 0) refuse(node, "memory", "is zero");
}

void read_reserved(CardSpec& card, const YAML::Node& node) {
    card.reserved_bytes = size(node, "reserved");
}

void read_context_overhead(CardSpec& card, const YAML::Node& node) {
    card.context_overhead_bytes = size(node, "context_overhead");
}
void read_graph_overhead(CardSpec& card, const YAML::Node& node) {
    card.graph_overhead_bytes = size(node, "graph_overhead");
}

void read_uuid(CardSpec& card, const YAML::Node& node) {
    static constexpr std::string_view kShape = "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    card.uuid = scalar(node, "uuid");
    bool fits = card.uuid.size() == kShape.size();
    for (std::size_t i = 0; fits && i < kShape.size(); i++) {
        char& c = card.uuid[i];
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

void read_minor(CardSpec& card, const YAML::Node& node) {
    card.minor = number(node, "minor", 255);
}

void read_numa(CardSpec& card, const YAML::Node& node) {
    card.numa = number(node, "numa", 63);
}

void read_pcie_switch(CardSpec& card, const YAML::Node& node) {
    card.pcie_switch = number(node, "pcie_switch", 255);
}

void read_nvlink(CardSpec& card, const YAML::Node& node) {
    card.nvlink = number(node, "nvlink", 255);
}

void read_event_clock(CardSpec& card, const YAML::Node& node) {
    card.event_clock_fast_ppm = number(node, "event_clock_fast_ppm", 9999);
}

void read_pci_bus_id(CardSpec& card, const YAML::Node& node) {
    const std::string text = scalar(node, "pci_bus_id");
    if (!scan(text, "%8x:%2x:%2x.0%n", &card.pci_domain, &card.pci_bus, &card.pci_device)) {
        refuse(node, "pci_bus_id", fmt::format("\"{}\" is not like 0000:17:00.0", text));
    }
}

void read_compute_capability(CardSpec& card, const YAML::Node& node) {
    const std::string text = scalar(node, "compute_capability");
    if (!scan(text, "%2d.%1d%n", &card.compute_major, &card.compute_minor)) {
        refuse(node, "compute_capability", fmt::format("\"{}\" is not like 7.5", text));
    }
}

struct Field {
    const char* name;
    bool required;
    void (*read)(CardSpec&, const YAML::Node&);
};

constexpr Field kFields[] = {
    {"model", true, read_model},
    {"memory", true, read_memory},
    {"reserved", false, read_reserved},
    {"uuid", false, read_uuid},
    {"minor", false, read_minor},
    {"pci_bus_id", false, read_pci_bus_id},
    {"compute_capability", false, read_compute_capability},
    {"context_overhead", false, read_context_overhead},
    {"graph_overhead", false, read_graph_overhead},
    {"numa", false, read_numa},
    {"pcie_switch", false, read_pcie_switch},
    {"nvlink", false, read_nvlink},
    {"event_clock_fast_ppm", false, read_event_clock},
};

// Generated UUIDs must not change between runs: manifests and tests name them. splitmix64 over
// FNV-1a.
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

// Refuses keys outside the table and keys that appear twice, then reads the rest in the table's
// order.
void read_fields(CardSpec& card, const YAML::Node& node) {
    if (!node.IsMap()) refuse(node, "cards", "wants a list of maps");
    std::set<std::string> seen;
    for (const auto& pair : node) {
        const std::string key = pair.first.Scalar();
        const Field* known = nullptr;
        for (const Field& field : kFields) {
            if (key == field.name) known = &field;
        }
        if (known == nullptr) refuse(pair.first, key, "unknown key");
        if (!seen.insert(key).second) refuse(pair.first, key, "appears twice");
        known->read(card, pair.second);
    }
    for (const Field& field : kFields) {
        if (field.required && !seen.contains(field.name)) refuse(node, field.name, "is missing");
    }
    if (card.reserved_bytes >= card.memory_bytes) refuse(node, "reserved", "leaves no memory");
}

// What must differ from card to card.
struct Taken {
    std::set<std::string> uuids;
    std::set<unsigned> minors;
    std::set<std::string> bus_ids;

    void add(const CardSpec& card, const YAML::Node& node) {
        if (!uuids.insert(card.uuid).second) {
            refuse(node["uuid"] ? node["uuid"] : node, "uuid",
                   fmt::format("another card has {}", card.uuid));
        }
        if (!minors.insert(card.minor).second) {
            refuse(node["minor"] ? node["minor"] : node, "minor",
                   fmt::format("another card has {}", card.minor));
        }
        const std::string bus_id =
            fmt::format("{:04x}:{:02x}:{:02x}.0", card.pci_domain, card.pci_bus, card.pci_device);
        if (!bus_ids.insert(bus_id).second) {
            refuse(node["pci_bus_id"] ? node["pci_bus_id"] : node, "pci_bus_id",
                   fmt::format("another card has {}", bus_id));
        }
    }
};

std::vector<CardSpec> read_cards(const YAML::Node& root, std::string seed) {
    if (!root.IsMap()) throw Mistake{1, "cards: is missing"};
    for (const auto& pair : root) {
        const std::string key = pair.first.Scalar();
        if (key != "cards" && key != "seed") refuse(pair.first, key, "unknown key");
    }
    if (seed.empty() && root["seed"]) seed = scalar(root["seed"], "seed");
    const YAML::Node list = root["cards"];
    if (!list) throw Mistake{1, "cards: is missing"};
    if (!list.IsSequence() || list.size() == 0) refuse(list, "cards", "wants at least one card");
    if (list.size() > kMaxCards) {
        refuse(list, "cards", fmt::format("{} cards, at most {}", list.size(), kMaxCards));
    }
    std::vector<CardSpec> cards;
    Taken taken;
    for (const YAML::Node& node : list) {
        const auto index = static_cast<unsigned>(cards.size());
        CardSpec card;
        card.uuid = make_uuid(seed, index);
        card.minor = index;
        card.pci_bus = 16 + index;
        read_fields(card, node);
        taken.add(card, node);
        cards.push_back(card);
    }
    return cards;
}

}  // namespace

tl::expected<std::vector<CardSpec>, std::string> parse_cards(const CardsText& input) {
    try {
        return read_cards(YAML::Load(input.text), input.seed);
    } catch (const Mistake& mistake) {
        return tl::unexpected(fmt::format("{}:{}: {}", input.name, mistake.line, mistake.text));
    } catch (const YAML::Exception& error) {
        return tl::unexpected(fmt::format("{}:{}: {}", input.name, error.mark.line + 1, error.msg));
    }
}

}  // namespace gpusim
