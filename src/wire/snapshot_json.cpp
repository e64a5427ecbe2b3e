#include "wire/snapshot_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/counted.hpp"
#include "base/dns_name.hpp"
#include "wire/byte_order_mark.hpp"
#include "wire/json_field.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 46;
constexpr std::int64_t kMostMilli = 1'000'000'000;

constexpr std::array kUnits = {JsonWord{"GiB", MemoryUnit::gib}, JsonWord{"MiB", MemoryUnit::mib}};
constexpr std::array kKinds = {JsonWord{"app", ContainerKind::app},
                               JsonWord{"init", ContainerKind::init},
                               JsonWord{"sidecar", ContainerKind::sidecar}};
constexpr std::array kMemory = {JsonWord{"wholeCard", MemoryAsk::Kind::whole_card},
                                JsonWord{"bytes", MemoryAsk::Kind::bytes},
                                JsonWord{"nodeUnits", MemoryAsk::Kind::node_units}};

// What a terminal would take for more than text.
bool has_controls(std::string_view text) {
    constexpr unsigned char kC1Lead = 0xC2;  // in UTF-8, before 0x80 to 0x9F
    unsigned char before = 0;
    return std::ranges::any_of(text, [&](char c) {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_control =
            byte < 0x20 || byte == 0x7F || (before == kC1Lead && byte >= 0x80 && byte <= 0x9F);
        before = byte;
        return is_control;
    });
}

Result<std::string> read_plain_or_empty(const JsonField& at) {
    TRY(std::string text, at.text_or_empty());
    if (has_controls(text)) return at.fault("has control characters");
    return text;
}

Result<std::string> read_plain(const JsonField& at) {
    TRY_VOID(at.text());
    return read_plain_or_empty(at);
}

// Of a node or a pod.
Result<std::string> read_name(const JsonField& at) {
    TRY(std::string name, at.text());
    if (!is_dns_name(name)) return at.fault("is no name in Kubernetes (a-z, 0-9, - and .)");
    return name;
}

Result<HostAsk> read_host(const JsonField& at) {
    HostAsk host;
    TRY(host.cpu_milli, at["cpuMilli"].number(0, kMostMilli));
    TRY(host.memory.count, at["memory"].number(0, kMostBytes));
    return host;
}

Result<Percent> read_percent(const JsonField& at) {
    TRY(const std::int64_t value, at.number_or_0(100));
    return Percent{static_cast<int>(value)};
}

// The cards' places in the node's list, a bit for each.
Result<std::uint64_t> read_places(const JsonField& at) {
    TRY(const auto places,
        at.each_or_none([](const JsonField& place) { return place.number(0, kMostLinkedIndex); }));
    std::uint64_t out = 0;
    for (const std::int64_t place : places)
        out |= std::uint64_t{1} << static_cast<unsigned>(place);
    return out;
}

Result<SnapshotCard> read_card(const JsonField& at) {
    SnapshotCard card;
    TRY(card.model, read_plain_or_empty(at["model"]));
    TRY(card.memory.count, at["memory"].number(1, kMostBytes));
    TRY(card.excess.count, at["excess"].number_or_0(kMostBytes));
    TRY(const bool sick, at["unhealthy"].yes_or_no());
    card.healthy = !sick;
    TRY(std::string uuid, read_plain_or_empty(at["uuid"]));
    card.uuid = GpuUuid(std::move(uuid));
    if (at["numa"].present()) {
        TRY(const std::int64_t numa, at["numa"].number(0, 1'000'000));
        card.links.numa = static_cast<int>(numa);
    }
    TRY(card.links.pcie, read_places(at["pcie"]));
    TRY(card.links.nvlink, read_places(at["nvlink"]));
    return card;
}

Result<SnapshotNode> read_snapshot_node(const JsonField& at) {
    SnapshotNode node;
    TRY(node.name, read_name(at["name"]));
    TRY(node.unit, at["unit"].one_of(kUnits));
    TRY(node.host, read_host(at["host"]));
    if (at["others"].present()) {
        TRY(node.others, read_host(at["others"]));
    }
    TRY(node.closed, at["closed"].yes_or_no());
    TRY(node.cards, at["cards"].each(read_card));
    return node;
}

Result<SnapshotAsk> read_ask(const JsonField& at) {
    SnapshotAsk ask;
    TRY(ask.kind, at["kind"].one_of(kKinds));
    TRY(const std::int64_t gpus, at["gpus"].number(1, kMaxGpusPerContainer));
    ask.gpus = static_cast<int>(gpus);
    TRY(ask.memory.kind, at["memory"].one_of(kMemory));
    if (ask.memory.kind != MemoryAsk::Kind::whole_card) {
        const bool in_bytes = ask.memory.kind == MemoryAsk::Kind::bytes;
        TRY(ask.memory.amount, at["amount"].number(1, in_bytes ? kMostBytes : kMostBytes >> 30));
    }
    TRY(ask.cores, read_percent(at["cores"]));
    return ask;
}

Result<SnapshotShare> read_share(const JsonField& at) {
    SnapshotShare share;
    TRY(const std::int64_t card, at["card"].number(0, 1'000'000));
    share.card = static_cast<int>(card);
    TRY(share.memory.count, at["memory"].number(0, kMostBytes));
    TRY(share.cores, read_percent(at["cores"]));
    TRY(share.whole, at["whole"].yes_or_no());
    return share;
}

Result<SnapshotHolder> read_holder(const JsonField& at) {
    SnapshotHolder holder;
    TRY(holder.kind, at["kind"].one_of(kKinds));
    TRY(holder.shares, at["shares"].each(read_share));
    if (holder.shares.empty()) return at["shares"].fault("is empty");
    return holder;
}

Result<CardRuleTexts> read_rules(const JsonField& at, const std::string& space) {
    CardRuleTexts rules;
    if (!at.present()) return rules;
    TRY_VOID(at.is_object());
    TRY(rules.models, read_plain_or_empty(at["models"]));
    TRY(rules.uuids, read_plain_or_empty(at["uuids"]));
    TRY(rules.apart, read_plain_or_empty(at["apart"]));
    TRY(rules.together, read_plain_or_empty(at["together"]));
    TRY(rules.links, read_plain_or_empty(at["links"]));
    if (const auto parsed = parse_card_rules(rules, space); !parsed)
        return at.fault(parsed.error().text);
    return rules;
}

Result<SnapshotPod> read_snapshot_pod(const JsonField& at) {
    SnapshotPod pod;
    TRY(pod.name.space, at["namespace"].text());
    if (!is_dns_label(pod.name.space))
        return at["namespace"].fault("is no namespace's name (a-z, 0-9 and -)");
    TRY(pod.name.name, read_name(at["name"]));
    TRY(pod.created, at["created"].time_or_empty());
    TRY(pod.deleted, at["deleted"].time_or_empty());
    if (at["node"].present()) {
        TRY(pod.node, read_name(at["node"]));
    }
    TRY(pod.host, read_host(at["host"]));
    if (const JsonField gang = at["gang"]; gang.present()) {
        pod.gang.emplace();
        TRY(pod.gang->gang, read_plain(gang["name"]));
        TRY(const std::int64_t size, gang["size"].number(1, kMostGangPods));
        pod.gang->size = static_cast<int>(size);
    }
    TRY(pod.chooses_nodes, at["choosesNodes"].yes_or_no());
    TRY(pod.card_rules, read_rules(at["rules"], pod.name.space));
    TRY(pod.asks, at["asks"].each(read_ask));
    if (pod.asks.empty()) return at["asks"].fault("is empty");
    TRY(pod.holds, at["holds"].each_or_none(read_holder));
    if (pod.node.empty() != pod.holds.empty())
        return at["holds"].fault("is there for a pod on no node, or missing for one on a node");
    return pod;
}

struct LeftOutRow {
    std::string_view key;
    int SnapshotLeftOut::* pods;
};
constexpr std::array kLeftOut = {LeftOutRow{"gated", &SnapshotLeftOut::gated},
                                 LeftOutRow{"ending", &SnapshotLeftOut::ending},
                                 LeftOutRow{"faulty", &SnapshotLeftOut::faulty},
                                 LeftOutRow{"unknown", &SnapshotLeftOut::unknown}};

Result<SnapshotLeftOut> read_left_out(const JsonField& at) {
    SnapshotLeftOut out;
    if (!at.present()) return out;
    TRY_VOID(at.is_object());
    for (const LeftOutRow& row : kLeftOut) {
        TRY(const std::int64_t pods, at[row.key].number_or_0(1'000'000));
        out.*row.pods = static_cast<int>(pods);
    }
    return out;
}

std::string write_left_out(const SnapshotLeftOut& left_out) {
    if (left_out.pods() == 0) return {};
    JsonWriter w;
    w.object([&] {
        for (const LeftOutRow& row : kLeftOut) {
            if (left_out.*row.pods > 0) w.member(row.key, left_out.*row.pods);
        }
    });
    return ",\n\"leftOut\":" + w.take();
}

// Which of two values of one key counts nobody can tell.
Result<> check_keys(const JsonValue& root) {
    std::vector<std::pair<JsonValue, std::string>> left{{root, ""}};  // and where they stand
    while (!left.empty()) {
        const auto [json, path] = std::move(left.back());
        left.pop_back();
        std::set<std::string_view> keys;
        for (const auto& [key, value] : json.members()) {
            if (!keys.insert(key).second) {
                return fail(Code::invalid_argument,
                            fmt::format("{}{} is there twice", path.empty() ? "" : path + ": ",
                                        json_string(key)));
            }
            left.emplace_back(value,
                              path.empty() ? std::string(key) : fmt::format("{}.{}", path, key));
        }
        const auto elements = json.elements();
        for (std::size_t i = 0; i < elements.size(); ++i)
            left.emplace_back(elements[i], fmt::format("{}[{}]", path, i));
    }
    return {};
}

// Cards are linked to others of their node.
Result<> check_links(const std::vector<SnapshotCard>& cards, const std::string& node) {
    const std::uint64_t all = cards.size() > kMostLinkedIndex
                                  ? ~std::uint64_t{0}
                                  : (std::uint64_t{1} << cards.size()) - 1;
    for (std::size_t c = 0; c < cards.size(); ++c) {
        const std::uint64_t own = c > kMostLinkedIndex ? 0 : std::uint64_t{1} << c;
        for (const auto& [key, places] :
             {std::pair("pcie", cards[c].links.pcie), std::pair("nvlink", cards[c].links.nvlink)}) {
            if ((places & ~(all & ~own)) == 0) continue;
            return fail(Code::invalid_argument,
                        fmt::format("{}.cards[{}].{}: names the card itself, or a place that is "
                                    "not among the {} of the node",
                                    node, c, key, counted(cards.size(), "card")));
        }
    }
    return {};
}

Result<> check_uuids(const std::vector<SnapshotCard>& cards, const std::string& node) {
    std::set<std::string_view> uuids;
    for (std::size_t c = 0; c < cards.size(); ++c) {
        const std::string& uuid = cards[c].uuid.str();
        if (uuid.empty() || uuids.insert(uuid).second) continue;
        return fail(Code::invalid_argument,
                    fmt::format("{}.cards[{}].uuid: \"{}\" is there twice", node, c, uuid));
    }
    return {};
}

// What is wrong with a share of these cards, `others` being the container's shares before it.
std::string share_fault(const SnapshotShare& share, const std::vector<SnapshotCard>& cards,
                        std::span<const SnapshotShare> others) {
    const auto card = static_cast<std::size_t>(share.card);
    if (card >= cards.size())
        return fmt::format("card: the node has {}", counted(cards.size(), "card"));
    if (std::ranges::find(others, share.card, &SnapshotShare::card) != others.end())
        return fmt::format("card: {} is there twice in one container", card);
    const std::int64_t most = cards[card].memory.count;
    if (share.memory.count > most)
        return fmt::format("memory: is more than the card's {} bytes", most);
    if (share.whole && share.memory.count < most)
        return fmt::format("memory: is less than the card's {} bytes, of a whole card", most);
    return {};
}

Result<> check_shares(const SnapshotPod& pod, const std::vector<SnapshotCard>& cards,
                      std::size_t row) {
    for (std::size_t h = 0; h < pod.holds.size(); ++h) {
        const std::span shares(pod.holds[h].shares);
        for (std::size_t s = 0; s < shares.size(); ++s) {
            const std::string fault = share_fault(shares[s], cards, shares.first(s));
            if (fault.empty()) continue;
            return fail(Code::invalid_argument,
                        fmt::format("pods[{}].holds[{}].shares[{}].{}", row, h, s, fault));
        }
    }
    return {};
}

// What no field tells by itself.
Result<> check_whole(const ClusterSnapshot& snapshot) {
    std::map<std::string_view, const SnapshotNode*> nodes;
    for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
        const SnapshotNode& node = snapshot.nodes[i];
        const std::string at = fmt::format("nodes[{}]", i);
        if (!nodes.emplace(node.name, &node).second) {
            return fail(Code::invalid_argument,
                        fmt::format("{}.name: \"{}\" is there twice", at, node.name));
        }
        TRY_VOID(check_uuids(node.cards, at));
        TRY_VOID(check_links(node.cards, at));
    }
    std::set<PodName> pods;
    for (std::size_t i = 0; i < snapshot.pods.size(); ++i) {
        const SnapshotPod& pod = snapshot.pods[i];
        if (!pods.insert(pod.name).second) {
            return fail(Code::invalid_argument,
                        fmt::format("pods[{}].name: \"{}\" is there twice", i, pod.name.str()));
        }
        if (pod.node.empty()) continue;
        const auto node = nodes.find(pod.node);
        if (node == nodes.end()) {
            return fail(Code::invalid_argument,
                        fmt::format("pods[{}].node: no node \"{}\" in nodes", i, pod.node));
        }
        TRY_VOID(check_shares(pod, node->second->cards, i));
    }
    return {};
}

void write_host(JsonWriter& w, std::string_view key, const HostAsk& host) {
    w.object(key, [&] {
        w.member("cpuMilli", host.cpu_milli);
        w.member("memory", host.memory.count);
    });
}

void write_text(JsonWriter& w, std::string_view key, const std::string& text) {
    if (!text.empty()) w.member(key, text);
}

void write_cores(JsonWriter& w, Percent cores) {
    if (cores.value != 0) w.member("cores", cores.value);
}

void write_places(JsonWriter& w, std::string_view key, std::uint64_t places) {
    if (places == 0) return;
    w.array(key, [&] {
        for (std::uint64_t left = places; left != 0; left &= left - 1)
            w.item(std::int64_t{std::countr_zero(left)});
    });
}

std::string write_node(const SnapshotNode& node) {
    JsonWriter w;
    w.object([&] {
        w.member("name", node.name);
        w.member("unit", word_of(kUnits, node.unit));
        write_host(w, "host", node.host);
        if (node.others != HostAsk{}) write_host(w, "others", node.others);
        if (node.closed) w.member("closed", true);
        w.array("cards", [&] {
            for (const SnapshotCard& card : node.cards) {
                w.object([&] {
                    write_text(w, "model", card.model);
                    write_text(w, "uuid", card.uuid.str());
                    w.member("memory", card.memory.count);
                    if (card.excess != Bytes{}) w.member("excess", card.excess.count);
                    if (!card.healthy) w.member("unhealthy", true);
                    if (card.links.numa != kNumaUnknown) w.member("numa", card.links.numa);
                    write_places(w, "pcie", card.links.pcie);
                    write_places(w, "nvlink", card.links.nvlink);
                });
            }
        });
    });
    return w.take();
}

void write_ask(JsonWriter& w, const SnapshotAsk& ask) {
    w.object([&] {
        w.member("kind", word_of(kKinds, ask.kind));
        w.member("gpus", ask.gpus);
        w.member("memory", word_of(kMemory, ask.memory.kind));
        if (ask.memory.kind != MemoryAsk::Kind::whole_card) w.member("amount", ask.memory.amount);
        write_cores(w, ask.cores);
    });
}

void write_holder(JsonWriter& w, const SnapshotHolder& holder) {
    w.object([&] {
        w.member("kind", word_of(kKinds, holder.kind));
        w.array("shares", [&] {
            for (const SnapshotShare& share : holder.shares) {
                w.object([&] {
                    w.member("card", share.card);
                    w.member("memory", share.memory.count);
                    write_cores(w, share.cores);
                    if (share.whole) w.member("whole", true);
                });
            }
        });
    });
}

void write_rules(JsonWriter& w, const CardRuleTexts& rules) {
    if (rules == CardRuleTexts{}) return;
    w.object("rules", [&] {
        write_text(w, "models", rules.models);
        write_text(w, "uuids", rules.uuids);
        write_text(w, "apart", rules.apart);
        write_text(w, "together", rules.together);
        write_text(w, "links", rules.links);
    });
}

std::string write_pod(const SnapshotPod& pod) {
    JsonWriter w;
    w.object([&] {
        w.member("namespace", pod.name.space);
        w.member("name", pod.name.name);
        write_text(w, "created", pod.created);
        write_text(w, "deleted", pod.deleted);
        write_text(w, "node", pod.node);
        write_host(w, "host", pod.host);
        if (pod.gang) {
            w.object("gang", [&] {
                w.member("name", pod.gang->gang);
                w.member("size", pod.gang->size);
            });
        }
        if (pod.chooses_nodes) w.member("choosesNodes", true);
        write_rules(w, pod.card_rules);
        w.array("asks", [&] {
            for (const SnapshotAsk& ask : pod.asks)
                write_ask(w, ask);
        });
        if (pod.holds.empty()) return;
        w.array("holds", [&] {
            for (const SnapshotHolder& holder : pod.holds)
                write_holder(w, holder);
        });
    });
    return w.take();
}

template <class T>
std::string lines(const std::vector<T>& values, std::string (*write)(const T& value)) {
    std::string out = "[";
    for (const T& value : values)
        out += (out.size() > 1 ? ",\n  " : "\n  ") + write(value);
    return out + "]";
}

int version_of(const ClusterSnapshot& snapshot) {
    if (!snapshot.tells_card_rules) return kSnapshotWithoutRules;
    return snapshot.tells_links ? kSnapshotVersion : kSnapshotWithoutLinks;
}

}  // namespace

std::string write_snapshot(const ClusterSnapshot& snapshot) {
    return fmt::format("{{\"version\":{},\n\"taken\":{},\n\"nodes\":{},\n\"pods\":{}{}}}\n",
                       version_of(snapshot), json_string(snapshot.taken),
                       lines(snapshot.nodes, write_node), lines(snapshot.pods, write_pod),
                       write_left_out(snapshot.left_out));
}

Result<ClusterSnapshot> read_snapshot(std::string_view text) {
    auto document = JsonDocument::parse(without_byte_order_mark(text));
    if (!document) return fail(document.error().in("no snapshot"));
    const JsonField root(document->root(), "");
    TRY(const std::int64_t version, root["version"].number(1, 1'000'000));
    if (version > kSnapshotVersion) {
        return fail(Code::unsupported,
                    fmt::format("version: {} is none of {} to {}, the ones that this release "
                                "reads; use the tessera-sim of the release that wrote it",
                                version, kSnapshotWithoutRules, kSnapshotVersion));
    }
    TRY_VOID(check_keys(document->root()));
    ClusterSnapshot out{.tells_card_rules = version > kSnapshotWithoutRules,
                        .tells_links = version > kSnapshotWithoutLinks};
    TRY(out.taken, root["taken"].time());
    TRY(out.nodes, root["nodes"].each(read_snapshot_node));
    TRY(out.pods, root["pods"].each(read_snapshot_pod));
    TRY(out.left_out, read_left_out(root["leftOut"]));
    TRY_VOID(check_whole(out));
    return out;
}

}  // namespace tessera
