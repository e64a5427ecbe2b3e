#include "wire/tessera/cluster_dump_json.hpp"

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
#include "wire/text/byte_order_mark.hpp"
#include "wire/text/json_field.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 46;
constexpr std::int64_t kMostMilli = 1'000'000'000;

constexpr std::array kUnits = {JsonWord{"GiB", MemoryUnit::gib}, JsonWord{"MiB", MemoryUnit::mib}};
constexpr std::array kKinds = {JsonWord{"app", ContainerKind::app},
                               JsonWord{"init", ContainerKind::init},
                               JsonWord{"sidecar", ContainerKind::sidecar}};
constexpr std::array kMemory = {JsonWord{"wholeGpu", MemoryRequest::Kind::whole_gpu},
                                JsonWord{"bytes", MemoryRequest::Kind::bytes},
                                JsonWord{"nodeUnits", MemoryRequest::Kind::node_units},
                                JsonWord{"percent", MemoryRequest::Kind::percent}};

// Characters that a terminal would interpret as control codes.
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

// The name of a node or a pod.
Result<std::string> read_name(const JsonField& at) {
    TRY(std::string name, at.text());
    if (!is_dns_name(name))
        return at.fault("is not a valid name in Kubernetes (a-z, 0-9, - and .)");
    return name;
}

Result<HostRequest> read_host(const JsonField& at) {
    HostRequest host;
    TRY(host.cpu_milli, at["cpuMilli"].number(0, kMostMilli));
    TRY(host.memory.count, at["memory"].number(0, kMostBytes));
    return host;
}

Result<Percent> read_percent(const JsonField& at) {
    TRY(const std::int64_t value, at.number_or_0(100));
    return Percent{static_cast<int>(value)};
}

// Indices into the node's list of GPUs, as a bit set.
Result<std::uint64_t> read_places(const JsonField& at) {
    TRY(const auto places,
        at.each_or_none([](const JsonField& place) { return place.number(0, kMostLinkedIndex); }));
    std::uint64_t out = 0;
    for (const std::int64_t place : places)
        out |= std::uint64_t{1} << static_cast<unsigned>(place);
    return out;
}

Result<DumpGpu> read_gpu(const JsonField& at) {
    DumpGpu gpu;
    TRY(gpu.model, read_plain_or_empty(at["model"]));
    TRY(gpu.memory.count, at["memory"].number(1, kMostBytes));
    TRY(gpu.over_limit.count, at["overLimit"].number_or_0(kMostBytes));
    TRY(const bool sick, at["unhealthy"].yes_or_no());
    TRY(gpu.offers_mps, at["mps"].yes_or_no());
    TRY(gpu.limits_memory, at["memoryLimits"].yes_or_no());
    gpu.healthy = !sick;
    TRY(std::string uuid, read_plain_or_empty(at["uuid"]));
    gpu.uuid = GpuUuid(std::move(uuid));
    if (at["numa"].present()) {
        TRY(const std::int64_t numa, at["numa"].number(0, 1'000'000));
        gpu.links.numa = static_cast<int>(numa);
    }
    TRY(gpu.links.pcie, read_places(at["pcie"]));
    TRY(gpu.links.nvlink, read_places(at["nvlink"]));
    return gpu;
}

Result<DumpNode> read_dump_node(const JsonField& at) {
    DumpNode node;
    TRY(node.name, read_name(at["name"]));
    TRY(node.unit, at["unit"].one_of(kUnits));
    TRY(node.host, read_host(at["host"]));
    if (at["others"].present()) {
        TRY(node.others, read_host(at["others"]));
    }
    TRY(node.closed, at["closed"].yes_or_no());
    TRY(node.gpus, at["gpus"].each(read_gpu));
    return node;
}

// The largest amount of memory in the unit of `kind`.
std::int64_t most_of(MemoryRequest::Kind kind) {
    if (kind == MemoryRequest::Kind::percent) return 100;
    return kind == MemoryRequest::Kind::bytes ? kMostBytes : kMostBytes >> 30;
}

Result<DumpRequest> read_dump_request(const JsonField& at) {
    DumpRequest request;
    TRY(request.kind, at["kind"].one_of(kKinds));
    TRY(const std::int64_t gpus, at["gpus"].number(1, kMaxGpusPerContainer));
    request.gpus = static_cast<int>(gpus);
    TRY(request.memory.kind, at["memory"].one_of(kMemory));
    if (request.memory.kind != MemoryRequest::Kind::whole_gpu) {
        TRY(request.memory.amount, at["amount"].number(1, most_of(request.memory.kind)));
    }
    TRY(request.cores, read_percent(at["cores"]));
    return request;
}

Result<DumpShare> read_share(const JsonField& at) {
    DumpShare share;
    TRY(const std::int64_t gpu, at["gpu"].number(0, 1'000'000));
    share.gpu = static_cast<int>(gpu);
    TRY(share.memory.count, at["memory"].number(0, kMostBytes));
    TRY(share.cores, read_percent(at["cores"]));
    TRY(share.whole, at["whole"].yes_or_no());
    return share;
}

Result<DumpAllocation> read_allocation(const JsonField& at) {
    DumpAllocation allocation;
    TRY(allocation.kind, at["kind"].one_of(kKinds));
    TRY(allocation.shares, at["shares"].each(read_share));
    if (allocation.shares.empty()) return at["shares"].fault("is empty");
    return allocation;
}

Result<GpuRuleTexts> read_rules(const JsonField& at, const std::string& ns) {
    GpuRuleTexts rules;
    if (!at.present()) return rules;
    TRY_VOID(at.is_object());
    TRY(rules.models, read_plain_or_empty(at["models"]));
    TRY(rules.uuids, read_plain_or_empty(at["uuids"]));
    TRY(rules.anti_affinity, read_plain_or_empty(at["antiAffinity"]));
    TRY(rules.affinity, read_plain_or_empty(at["affinity"]));
    TRY(rules.topology, read_plain_or_empty(at["topology"]));
    TRY(rules.isolation, read_plain_or_empty(at["isolation"]));
    if (const auto parsed = parse_gpu_rules(rules, ns); !parsed)
        return at.fault(parsed.error().text);
    return rules;
}

Result<DumpPod> read_dump_pod(const JsonField& at) {
    DumpPod pod;
    TRY(pod.name.ns, at["namespace"].text());
    if (!is_dns_label(pod.name.ns))
        return at["namespace"].fault("is not a valid namespace name (a-z, 0-9 and -)");
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
    TRY(pod.gpu_rules, read_rules(at["rules"], pod.name.ns));
    TRY(pod.requests, at["requests"].each(read_dump_request));
    if (pod.requests.empty()) return at["requests"].fault("is empty");
    TRY(pod.allocated, at["allocated"].each_or_none(read_allocation));
    if (pod.node.empty() != pod.allocated.empty()) {
        return at["allocated"].fault(
            "present for a pod without a node, or missing for a pod on a node");
    }
    return pod;
}

struct LeftOutRow {
    std::string_view key;
    int DumpOmission::* pods;
};
constexpr std::array kLeftOut = {
    LeftOutRow{"gated", &DumpOmission::gated}, LeftOutRow{"ending", &DumpOmission::ending},
    LeftOutRow{"faulty", &DumpOmission::faulty}, LeftOutRow{"unknown", &DumpOmission::unknown}};

Result<DumpOmission> read_left_out(const JsonField& at) {
    DumpOmission out;
    if (!at.present()) return out;
    TRY_VOID(at.is_object());
    for (const LeftOutRow& row : kLeftOut) {
        TRY(const std::int64_t pods, at[row.key].number_or_0(1'000'000));
        out.*row.pods = static_cast<int>(pods);
    }
    return out;
}

std::string write_left_out(const DumpOmission& left_out) {
    if (left_out.pods() == 0) return {};
    JsonWriter w;
    w.object([&] {
        for (const LeftOutRow& row : kLeftOut) {
            if (left_out.*row.pods > 0) w.member(row.key, left_out.*row.pods);
        }
    });
    return ",\n\"leftOut\":" + w.take();
}

// If a key appears twice in an object, it is unclear which value counts.
Result<> check_keys(const JsonValue& root) {
    std::vector<std::pair<JsonValue, std::string>> left{{root, ""}};  // with their paths
    while (!left.empty()) {
        const auto [json, path] = std::move(left.back());
        left.pop_back();
        std::set<std::string_view> keys;
        for (const auto& [key, value] : json.members()) {
            if (!keys.insert(key).second) {
                return fail(Code::invalid_argument,
                            fmt::format("{}{} appears twice", path.empty() ? "" : path + ": ",
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

// Links are only to other GPUs of the same node.
Result<> check_links(const std::vector<DumpGpu>& gpus, const std::string& node) {
    const std::uint64_t all =
        gpus.size() > kMostLinkedIndex ? ~std::uint64_t{0} : (std::uint64_t{1} << gpus.size()) - 1;
    for (std::size_t c = 0; c < gpus.size(); ++c) {
        const std::uint64_t own = c > kMostLinkedIndex ? 0 : std::uint64_t{1} << c;
        for (const auto& [key, places] :
             {std::pair("pcie", gpus[c].links.pcie), std::pair("nvlink", gpus[c].links.nvlink)}) {
            if ((places & ~(all & ~own)) == 0) continue;
            return fail(Code::invalid_argument,
                        fmt::format("{}.gpus[{}].{}: names the GPU itself, or an index that is "
                                    "not among the {} of the node",
                                    node, c, key, counted(gpus.size(), "GPU")));
        }
    }
    return {};
}

Result<> check_uuids(const std::vector<DumpGpu>& gpus, const std::string& node) {
    std::set<std::string_view> uuids;
    for (std::size_t c = 0; c < gpus.size(); ++c) {
        const std::string& uuid = gpus[c].uuid.str();
        if (uuid.empty() || uuids.insert(uuid).second) continue;
        return fail(Code::invalid_argument,
                    fmt::format("{}.gpus[{}].uuid: \"{}\" appears twice", node, c, uuid));
    }
    return {};
}

// What is wrong with a share of these GPUs; `others` are the earlier shares of the container.
std::string share_fault(const DumpShare& share, const std::vector<DumpGpu>& gpus,
                        std::span<const DumpShare> others) {
    const auto gpu = static_cast<std::size_t>(share.gpu);
    if (gpu >= gpus.size()) return fmt::format("gpu: the node has {}", counted(gpus.size(), "GPU"));
    if (std::ranges::find(others, share.gpu, &DumpShare::gpu) != others.end())
        return fmt::format("gpu: {} appears twice in one container", gpu);
    const std::int64_t most = gpus[gpu].memory.count;
    if (share.memory.count > most)
        return fmt::format("memory: is more than the GPU's {} bytes", most);
    if (share.whole && share.memory.count < most)
        return fmt::format("memory: is less than the GPU's {} bytes, of a whole GPU", most);
    return {};
}

Result<> check_shares(const DumpPod& pod, const std::vector<DumpGpu>& gpus, std::size_t row) {
    for (std::size_t h = 0; h < pod.allocated.size(); ++h) {
        const std::span shares(pod.allocated[h].shares);
        for (std::size_t s = 0; s < shares.size(); ++s) {
            const std::string fault = share_fault(shares[s], gpus, shares.first(s));
            if (fault.empty()) continue;
            return fail(Code::invalid_argument,
                        fmt::format("pods[{}].allocated[{}].shares[{}].{}", row, h, s, fault));
        }
    }
    return {};
}

// Checks that concern more than one field.
Result<> check_whole(const ClusterDump& dump) {
    std::map<std::string_view, const DumpNode*> nodes;
    for (std::size_t i = 0; i < dump.nodes.size(); ++i) {
        const DumpNode& node = dump.nodes[i];
        const std::string at = fmt::format("nodes[{}]", i);
        if (!nodes.emplace(node.name, &node).second) {
            return fail(Code::invalid_argument,
                        fmt::format("{}.name: \"{}\" appears twice", at, node.name));
        }
        TRY_VOID(check_uuids(node.gpus, at));
        TRY_VOID(check_links(node.gpus, at));
    }
    std::set<PodName> pods;
    for (std::size_t i = 0; i < dump.pods.size(); ++i) {
        const DumpPod& pod = dump.pods[i];
        if (!pods.insert(pod.name).second) {
            return fail(Code::invalid_argument,
                        fmt::format("pods[{}].name: \"{}\" appears twice", i, pod.name.str()));
        }
        if (pod.node.empty()) continue;
        const auto node = nodes.find(pod.node);
        if (node == nodes.end()) {
            return fail(Code::invalid_argument,
                        fmt::format("pods[{}].node: no node \"{}\" in nodes", i, pod.node));
        }
        TRY_VOID(check_shares(pod, node->second->gpus, i));
    }
    return {};
}

void write_host(JsonWriter& w, std::string_view key, const HostRequest& host) {
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

std::string write_node(const DumpNode& node) {
    JsonWriter w;
    w.object([&] {
        w.member("name", node.name);
        w.member("unit", word_of(kUnits, node.unit));
        write_host(w, "host", node.host);
        if (node.others != HostRequest{}) write_host(w, "others", node.others);
        if (node.closed) w.member("closed", true);
        w.array("gpus", [&] {
            for (const DumpGpu& gpu : node.gpus) {
                w.object([&] {
                    write_text(w, "model", gpu.model);
                    write_text(w, "uuid", gpu.uuid.str());
                    w.member("memory", gpu.memory.count);
                    if (gpu.over_limit != Bytes{}) w.member("overLimit", gpu.over_limit.count);
                    if (!gpu.healthy) w.member("unhealthy", true);
                    if (gpu.offers_mps) w.member("mps", true);
                    if (gpu.limits_memory) w.member("memoryLimits", true);
                    if (gpu.links.numa != kNumaUnknown) w.member("numa", gpu.links.numa);
                    write_places(w, "pcie", gpu.links.pcie);
                    write_places(w, "nvlink", gpu.links.nvlink);
                });
            }
        });
    });
    return w.take();
}

void write_dump_request(JsonWriter& w, const DumpRequest& request) {
    w.object([&] {
        w.member("kind", word_of(kKinds, request.kind));
        w.member("gpus", request.gpus);
        w.member("memory", word_of(kMemory, request.memory.kind));
        if (request.memory.kind != MemoryRequest::Kind::whole_gpu)
            w.member("amount", request.memory.amount);
        write_cores(w, request.cores);
    });
}

void write_allocation(JsonWriter& w, const DumpAllocation& allocation) {
    w.object([&] {
        w.member("kind", word_of(kKinds, allocation.kind));
        w.array("shares", [&] {
            for (const DumpShare& share : allocation.shares) {
                w.object([&] {
                    w.member("gpu", share.gpu);
                    w.member("memory", share.memory.count);
                    write_cores(w, share.cores);
                    if (share.whole) w.member("whole", true);
                });
            }
        });
    });
}

void write_rules(JsonWriter& w, const GpuRuleTexts& rules) {
    if (rules == GpuRuleTexts{}) return;
    w.object("rules", [&] {
        write_text(w, "models", rules.models);
        write_text(w, "uuids", rules.uuids);
        write_text(w, "antiAffinity", rules.anti_affinity);
        write_text(w, "affinity", rules.affinity);
        write_text(w, "topology", rules.topology);
        write_text(w, "isolation", rules.isolation);
    });
}

std::string write_pod(const DumpPod& pod) {
    JsonWriter w;
    w.object([&] {
        w.member("namespace", pod.name.ns);
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
        write_rules(w, pod.gpu_rules);
        w.array("requests", [&] {
            for (const DumpRequest& request : pod.requests)
                write_dump_request(w, request);
        });
        if (pod.allocated.empty()) return;
        w.array("allocated", [&] {
            for (const DumpAllocation& allocation : pod.allocated)
                write_allocation(w, allocation);
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

int version_of(const ClusterDump& dump) {
    if (!dump.tells_gpu_rules) return kDumpWithoutRules;
    return dump.tells_links ? kDumpVersion : kDumpWithoutLinks;
}

}  // namespace

std::string write_dump(const ClusterDump& dump) {
    return fmt::format("{{\"version\":{},\n\"taken\":{},\n\"nodes\":{},\n\"pods\":{}{}}}\n",
                       version_of(dump), json_string(dump.taken), lines(dump.nodes, write_node),
                       lines(dump.pods, write_pod), write_left_out(dump.left_out));
}

Result<ClusterDump> read_dump(std::string_view text) {
    auto document = JsonDocument::parse(without_byte_order_mark(text));
    if (!document) return fail(document.error().in("no snapshot"));
    const JsonField root(document->root(), "");
    TRY(const std::int64_t version, root["version"].number(1, 1'000'000));
    if (version > kDumpVersion) {
        return fail(Code::unsupported,
                    fmt::format("version: {} is not one of {} to {}, which this release "
                                "reads; use the tessera-sim of the release that wrote it",
                                version, kDumpWithoutRules, kDumpVersion));
    }
    TRY_VOID(check_keys(document->root()));
    ClusterDump out{.tells_gpu_rules = version > kDumpWithoutRules,
                    .tells_links = version > kDumpWithoutLinks};
    TRY(out.taken, root["taken"].time());
    TRY(out.nodes, root["nodes"].each(read_dump_node));
    TRY(out.pods, root["pods"].each(read_dump_pod));
    TRY(out.left_out, read_left_out(root["leftOut"]));
    TRY_VOID(check_whole(out));
    return out;
}

}  // namespace tessera
