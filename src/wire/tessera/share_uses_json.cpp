#include "wire/tessera/share_uses_json.hpp"

#include <fmt/format.h>

#include "wire/text/json.hpp"

namespace tessera {
namespace {

tl::unexpected<Error> bad(std::string_view field) {
    return fail(Code::invalid_argument,
                fmt::format("an agent's shares: {}: missing or out of range", field));
}

void write_share(JsonWriter& w, const ShareUse& use) {
    w.object([&] {
        w.member("podUid", use.pod.str());
        w.member("namespace", use.name.ns);
        w.member("pod", use.name.name);
        w.member("container", use.container);
        w.member("uuid", use.gpu.str());
        w.member("usedBytes", use.used.count);
        w.member("limitBytes", use.limit.count);
        w.member("coresPercent", use.cores.value);
        w.member("coresLimitPercent", use.cores_limit.value);
        w.member("refusals", use.refusals);
        w.member("timed", use.is_timed);
        w.member("kernelsNs", use.in_flight.kernels_ns);
        w.member("copiesNs", use.in_flight.copies_ns);
        w.member("hadKernelsNs", use.had.kernels_ns);
        w.member("hadCopiesNs", use.had.copies_ns);
        w.member("waitedNs", use.waited_ns);
        w.member("damaged", use.is_damaged);
        w.array("processes", [&] {
            for (const ProcessUse& process : use.processes) {
                w.object([&] {
                    w.member("pid", process.pid);
                    w.member("usedBytes", process.used.count);
                });
            }
        });
    });
}

// A count that is present and not negative.
Result<std::int64_t> read_count(JsonValue json, std::string_view field) {
    const auto value = json[field].integer();
    if (!value || *value < 0) return bad(field);
    return *value;
}

Result<Percent> read_percent(JsonValue json, std::string_view field) {
    TRY(const auto percent, read_count(json, field));
    if (percent > 100) return bad(field);
    return Percent{static_cast<int>(percent)};
}

Result<std::string> read_name(JsonValue json, std::string_view field) {
    std::string name = json[field].text_or("");
    if (name.empty()) return bad(field);
    return name;
}

Result<ProcessUse> read_process(JsonValue json) {
    TRY(const auto pid, read_count(json, "pid"));
    TRY(const auto used, read_count(json, "usedBytes"));
    return ProcessUse{.pid = pid, .used = {used}};
}

Result<ShareUse> read_share(JsonValue json) {
    ShareUse use;
    TRY(auto pod, read_name(json, "podUid"));
    TRY(use.container, read_name(json, "container"));
    TRY(auto uuid, read_name(json, "uuid"));
    use.pod = PodUid(std::move(pod));
    use.name = {json["namespace"].text_or(""), json["pod"].text_or("")};
    use.gpu = GpuUuid(std::move(uuid));
    TRY(use.used.count, read_count(json, "usedBytes"));
    TRY(use.limit.count, read_count(json, "limitBytes"));
    TRY(use.cores, read_percent(json, "coresPercent"));
    if (json["coresLimitPercent"].present()) {
        TRY(use.cores_limit, read_percent(json, "coresLimitPercent"));
    }
    use.is_timed = json["timed"].is_true();
    TRY(use.refusals, read_count(json, "refusals"));
    TRY(use.in_flight.kernels_ns, read_count(json, "kernelsNs"));
    TRY(use.in_flight.copies_ns, read_count(json, "copiesNs"));
    if (json["hadKernelsNs"].present()) {
        TRY(use.had.kernels_ns, read_count(json, "hadKernelsNs"));
    }
    if (json["hadCopiesNs"].present()) {
        TRY(use.had.copies_ns, read_count(json, "hadCopiesNs"));
    }
    TRY(use.waited_ns, read_count(json, "waitedNs"));
    use.is_damaged = json["damaged"].is_true();
    for (const JsonValue process : json["processes"].elements()) {
        TRY(const auto read, read_process(process));
        use.processes.push_back(read);
    }
    return use;
}

}  // namespace

std::string write_share_uses(const NodeShareUses& uses) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kShareUsesVersion);
        w.member("node", uses.node.str());
        w.array("shares", [&] {
            for (const ShareUse& use : uses.shares)
                write_share(w, use);
        });
    });
    return w.take();
}

Result<NodeShareUses> read_share_uses(std::string_view text) {
    auto document = JsonDocument::parse(text);
    if (!document) return fail(document.error().in("an agent's shares"));
    const JsonValue root = document->root();
    const auto version = root["version"].integer();
    if (!version || *version < 1) return bad("version");
    if (*version > kShareUsesVersion) {
        return fail(Code::unsupported,
                    fmt::format("an agent's shares: version {} is newer than {}; use the tessera "
                                "command of that release",
                                *version, kShareUsesVersion));
    }
    NodeShareUses out;
    TRY(auto node, read_name(root, "node"));
    out.node = NodeName(std::move(node));
    for (const JsonValue json : root["shares"].elements()) {
        TRY(auto use, read_share(json));
        out.shares.push_back(std::move(use));
    }
    return out;
}

}  // namespace tessera
