#include "wire/mps/mps_folder_json.hpp"

#include <array>
#include <limits>

#include "wire/text/json.hpp"
#include "wire/text/json_field.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kMostNumber = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostMemory = std::int64_t{1} << 50;  // more than any GPU has

constexpr std::array kPhases = {
    JsonWord<MpsPhase>{"starting", MpsPhase::starting},
    JsonWord<MpsPhase>{"ready", MpsPhase::ready},
    JsonWord<MpsPhase>{"failed", MpsPhase::failed},
    JsonWord<MpsPhase>{"stopping", MpsPhase::stopping},
};

void write_settings(JsonWriter& w, const MpsSettings& settings) {
    w.member("threadsPercent", settings.threads.value);
    w.member("memoryBytes", settings.memory.count);
}

Result<MpsSettings> settings_of(const JsonField& root, std::int64_t least_threads,
                                std::int64_t least_memory) {
    TRY(const auto threads, root["threadsPercent"].number(least_threads, 100));
    TRY(const auto memory, root["memoryBytes"].number(least_memory, kMostMemory));
    return MpsSettings{.threads = {static_cast<int>(threads)}, .memory = {memory}};
}

void write_client(JsonWriter& w, const MpsClient& client) {
    w.member("pid", client.pid);
    if (!client.pod.empty()) w.member("pod", client.pod.str());
}

Result<std::int64_t> pid_of(const JsonField& at) {
    return at["pid"].number(0, std::numeric_limits<std::int32_t>::max());
}

Result<MpsClient> read_client(const JsonField& at) {
    MpsClient client;
    TRY(client.pid, pid_of(at));
    TRY(auto pod, at["pod"].text_or_empty());
    client.pod = PodUid(std::move(pod));
    return client;
}

Result<MpsServer> read_server(const JsonField& at) {
    MpsServer server;
    TRY(server.pid, pid_of(at));
    TRY(server.clients, at["clients"].each_or_none(read_client));
    return server;
}

Result<MpsFault> read_fault(const JsonField& at) {
    MpsFault fault;
    TRY(fault.client, read_client(at));
    TRY(fault.unix_ns, at["unixNs"].number(0, kMostNumber));
    return fault;
}

Result<int> read_count(const JsonField& at) {
    if (!at.present()) return 0;
    TRY(const auto count, at.number(0, std::numeric_limits<int>::max()));
    return static_cast<int>(count);
}

}  // namespace

std::string_view mps_phase_name(MpsPhase phase) {
    return word_of(kPhases, phase);
}

std::string write_mps_settings(const MpsSettings& settings) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMpsFolderVersion);
        write_settings(w, settings);
    });
    return w.take() + "\n";
}

std::string write_mps_state(const MpsState& state) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMpsFolderVersion);
        w.member("gpu", state.gpu.str());
        w.member("phase", mps_phase_name(state.phase));
        if (!state.reason.empty()) w.member("reason", state.reason);
        w.member("pid", state.pid);
        write_settings(w, state.settings);
        w.member("protectsSettings", state.protects_settings);
        w.array("servers", [&] {
            for (const MpsServer& server : state.servers) {
                w.object([&] {
                    w.member("pid", server.pid);
                    w.array("clients", [&] {
                        for (const MpsClient& client : server.clients)
                            w.object([&] { write_client(w, client); });
                    });
                });
            }
        });
        w.array("faults", [&] {
            for (const MpsFault& fault : state.faults) {
                w.object([&] {
                    write_client(w, fault.client);
                    w.member("unixNs", fault.unix_ns);
                });
            }
        });
        w.member("serversLost", state.servers_lost);
        w.member("failures", state.failures);
        w.member("checkedUnixNs", state.checked_unix_ns);
    });
    return w.take() + "\n";
}

std::string write_mps_grant(const MpsGrant& grant) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMpsFolderVersion);
        w.member("gpu", grant.gpu.str());
        write_settings(w, {.threads = grant.threads, .memory = grant.memory});
        if (grant.user_id) w.member("userId", std::int64_t{*grant.user_id});
        if (!grant.name.name.empty()) {
            w.member("namespace", grant.name.ns);
            w.member("name", grant.name.name);
        }
    });
    return w.take() + "\n";
}

std::string write_mps_told(const MpsTold& told) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMpsFolderVersion);
        w.member("pid", told.pid);
        w.member("faultUnixNs", told.fault_unix_ns);
        w.member("serversLost", told.servers_lost);
        w.array("faults", [&] {
            for (const auto& [pod, count] : told.faults) {
                w.object([&] {
                    w.member("pod", pod.str());
                    w.member("count", count);
                });
            }
        });
    });
    return w.take() + "\n";
}

Result<MpsSettings> read_mps_settings(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMpsFolderVersion));
    // The daemon counts in MiB, and a limit of none would be no limit.
    return settings_of(root, 1, kMiB);
}

Result<MpsGrant> read_mps_grant(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMpsFolderVersion));
    MpsGrant grant;
    TRY(auto gpu, root["gpu"].text());
    grant.gpu = GpuUuid(std::move(gpu));
    TRY(const MpsSettings settings, settings_of(root, 1, 0));
    grant.threads = settings.threads;
    grant.memory = settings.memory;
    if (root["userId"].present()) {
        TRY(const auto user, root["userId"].number(0, std::numeric_limits<std::uint32_t>::max()));
        grant.user_id = static_cast<std::uint32_t>(user);
    }
    TRY(grant.name.ns, root["namespace"].text_or_empty());
    TRY(grant.name.name, root["name"].text_or_empty());
    return grant;
}

Result<MpsTold> read_mps_told(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMpsFolderVersion));
    MpsTold told;
    TRY(told.pid, pid_of(root));
    TRY(told.fault_unix_ns, root["faultUnixNs"].number(0, kMostNumber));
    TRY(told.servers_lost, read_count(root["serversLost"]));
    using PodFaults = std::pair<PodUid, int>;
    TRY(const auto faults,
        root["faults"].each_or_none([](const JsonField& at) -> Result<PodFaults> {
            TRY(auto pod, at["pod"].text());
            TRY(const int count, read_count(at["count"]));
            return PodFaults(std::move(pod), count);
        }));
    told.faults.insert(faults.begin(), faults.end());
    return told;
}

Result<MpsState> read_mps_state(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMpsFolderVersion));
    MpsState state;
    TRY(auto gpu, root["gpu"].text());
    state.gpu = GpuUuid(std::move(gpu));
    TRY(state.phase, root["phase"].one_of(kPhases));
    TRY(state.reason, root["reason"].text_or_empty());
    TRY(state.pid, root["pid"].number(0, std::numeric_limits<std::int32_t>::max()));
    TRY(state.settings, settings_of(root, 0, 0));
    TRY(state.protects_settings, root["protectsSettings"].yes_or_no());
    TRY(state.servers, root["servers"].each_or_none(read_server));
    TRY(state.faults, root["faults"].each_or_none(read_fault));
    TRY(state.servers_lost, read_count(root["serversLost"]));
    TRY(state.failures, read_count(root["failures"]));
    TRY(state.checked_unix_ns, root["checkedUnixNs"].number(0, kMostNumber));
    return state;
}

}  // namespace tessera
