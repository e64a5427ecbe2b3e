#include "wire/mps/mps_members.hpp"

#include <array>
#include <limits>

#include "wire/mps/mps_folder_json.hpp"

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
    TRY(fault.is_confirmed, at["confirmed"].yes_or_no());
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

namespace mps {

void write_settings(JsonWriter& w, const MpsSettings& settings) {
    w.member("threadsPercent", settings.threads.value);
    w.member("memoryBytes", settings.memory.count);
}

Result<MpsSettings> read_settings(const JsonField& at, std::int64_t least_threads,
                                  std::int64_t least_memory) {
    TRY(const auto threads, at["threadsPercent"].number(least_threads, 100));
    TRY(const auto memory, at["memoryBytes"].number(least_memory, kMostMemory));
    return MpsSettings{.threads = {static_cast<int>(threads)}, .memory = {memory}};
}

void write_state(JsonWriter& w, const MpsState& state) {
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
                if (fault.is_confirmed) w.member("confirmed", true);
            });
        }
    });
    w.member("serversLost", state.servers_lost);
    w.member("failures", state.failures);
    w.member("checkedUnixNs", state.checked_unix_ns);
}

void write_grant(JsonWriter& w, const MpsGrant& grant) {
    w.member("gpu", grant.gpu.str());
    write_settings(w, {.threads = grant.threads, .memory = grant.memory});
    if (grant.user_id) w.member("userId", std::int64_t{*grant.user_id});
    if (grant.shares_memory) w.member("sharesMemory", true);
    if (grant.has_probe) w.member("hasProbe", true);
    if (!grant.name.ns.empty() && !grant.name.name.empty()) {
        w.member("namespace", grant.name.ns);
        w.member("name", grant.name.name);
    }
}

Result<MpsState> read_state(const JsonField& at) {
    MpsState state;
    TRY(auto gpu, at["gpu"].text());
    state.gpu = GpuUuid(std::move(gpu));
    TRY(state.phase, at["phase"].one_of(kPhases));
    TRY(state.reason, at["reason"].text_or_empty());
    TRY(state.pid, pid_of(at));
    TRY(state.settings, read_settings(at, 0, 0));
    TRY(state.protects_settings, at["protectsSettings"].yes_or_no());
    TRY(state.servers, at["servers"].each_or_none(read_server));
    TRY(state.faults, at["faults"].each_or_none(read_fault));
    TRY(state.servers_lost, read_count(at["serversLost"]));
    TRY(state.failures, read_count(at["failures"]));
    TRY(state.checked_unix_ns, at["checkedUnixNs"].number(0, kMostNumber));
    return state;
}

Result<MpsGrant> read_grant(const JsonField& at) {
    MpsGrant grant;
    TRY(auto gpu, at["gpu"].text());
    grant.gpu = GpuUuid(std::move(gpu));
    TRY(const MpsSettings settings, read_settings(at, 1, 0));
    grant.threads = settings.threads;
    grant.memory = settings.memory;
    if (at["userId"].present()) {
        TRY(const auto user, at["userId"].number(0, std::numeric_limits<std::uint32_t>::max()));
        grant.user_id = static_cast<std::uint32_t>(user);
    }
    TRY(grant.shares_memory, at["sharesMemory"].yes_or_no());
    TRY(grant.has_probe, at["hasProbe"].yes_or_no());
    TRY(grant.name.ns, at["namespace"].text_or_empty());
    TRY(grant.name.name, at["name"].text_or_empty());
    if (grant.name.ns.empty() || grant.name.name.empty()) grant.name = {};
    return grant;
}

}  // namespace mps
}  // namespace tessera
