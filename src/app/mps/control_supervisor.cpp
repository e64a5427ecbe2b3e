#include "app/mps/control_supervisor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/log.hpp"
#include "wire/mps/control_protocol.hpp"
#include "wire/mps/mps_folder_json.hpp"

namespace tessera {
namespace {

// Answers are compared in thousandths of a percent.
std::int64_t milli(Percent percent) {
    return std::int64_t{1'000} * percent.value;
}

// What the protocol can say.
Bytes whole_mebibytes(Bytes memory) {
    return mebibytes(memory.count / kMiB);
}

tl::unexpected<Error> not_taken(std::string_view setting) {
    return fail(Code::conflict,
                fmt::format("MPS's control daemon does not take {}; daemon.log in its folder logs "
                            "says why",
                            setting));
}

}  // namespace

std::optional<MpsState> ControlSupervisor::look(const std::optional<MpsSettings>& wanted) {
    const auto found = daemon_.pid();
    state_.checked_unix_ns = clock_.unix_ns();
    const bool was_starting = std::exchange(is_starting_, false);
    if (!found) {
        // Whether clients that connect now are limited cannot be verified.
        daemon_.close();
        next_verify_ = {};
        enter(MpsPhase::failed, found.error().text);
        return state_;
    }
    const auto pid = *found;
    state_.pid = pid.value_or(0);
    if (pid && (!wanted || quit_at_)) {
        // A daemon that was asked to quit may end at any moment, so it gets no clients any more.
        stop(*pid);
        return state_;
    }
    quit_at_.reset();
    if (!wanted) {
        if (finish_stop()) return std::nullopt;
        return state_;
    }
    if (*wanted != wanted_) next_verify_ = {};
    wanted_ = *wanted;
    if (pid) {
        follow_clients();
        end_faulted_server();
        check(*pid, *wanted);
    } else {
        begin(*wanted, was_starting);
    }
    return state_;
}

MpsState ControlSupervisor::observe() {
    const auto pid = daemon_.pid();
    state_.checked_unix_ns = clock_.unix_ns();
    state_.pid = pid ? pid->value_or(0) : 0;
    daemon_.close();
    next_verify_ = {};
    return state_;
}

void ControlSupervisor::begin(const MpsSettings& wanted, bool was_starting) {
    daemon_.close();
    if (has_daemon_) {
        lose_servers({});
        return fail_and_pause("MPS's control daemon ended");
    }
    if (clock_.steady() < next_start_) return;
    // The caller writes down that it starts, before that takes its time.
    if (!was_starting) {
        is_starting_ = true;
        return enter(MpsPhase::starting, "");
    }
    const Result<> cleared = daemon_.clear();
    const Result<> admits = cleared ? admit_only_mps() : cleared;
    const Result<> started = admits ? daemon_.start() : admits;
    if (!started) return fail_and_pause(started.error().text);
    const auto pid = daemon_.pid();
    if (!pid || !*pid) return fail_and_pause("MPS's control daemon ended while it started");
    state_.pid = **pid;
    next_verify_ = {};
    silences_ = 0;
    check(state_.pid, wanted);
}

void ControlSupervisor::check(std::int64_t pid, const MpsSettings& wanted) {
    has_daemon_ = true;
    const auto now = clock_.steady();
    if (pid != verified_pid_) {
        // Another daemon took the place of the one that was verified.
        if (verified_pid_ != 0) daemon_.close();
        verified_pid_ = 0;
        next_verify_ = {};
    }
    if (state_.phase == MpsPhase::ready && now - ready_since_ >= kStable) failures_ = 0;
    if (now < next_verify_) return;
    next_verify_ = now + kVerify;
    has_answered_ = true;
    const Result<> reconciled = reconcile(wanted);
    if (reconciled) {
        silences_ = 0;
        verified_pid_ = pid;
        if (state_.phase != MpsPhase::ready) ready_since_ = now;
        return enter(MpsPhase::ready, "");
    }
    // A client that connects now might not be limited.
    daemon_.close();
    if (!has_answered_) return take_silence(pid, reconciled.error());
    silences_ = 0;
    enter(MpsPhase::failed, reconciled.error().text);
}

void ControlSupervisor::take_silence(std::int64_t pid, const Error& error) {
    next_verify_ = {};
    if (daemon_.has_servers()) {
        silences_ = 0;
        return enter(MpsPhase::failed,
                     fmt::format("MPS's control daemon does not answer ({}). Programs that are "
                                 "connected go on; no other can connect. A process in a container "
                                 "may have connected to it without saying anything: end the pods "
                                 "of this GPU that do not compute",
                                 error.text));
    }
    enter(MpsPhase::failed, error.text);
    if (++silences_ < kSilences) return;
    silences_ = 0;
    if (const auto killed = daemon_.kill(pid); !killed)
        return enter(MpsPhase::failed, killed.error().text);
    state_.pid = 0;
    fail_and_pause(
        fmt::format("MPS's control daemon did not answer {} times in a row and was "
                    "killed ({})",
                    kSilences, error.text));
}

void ControlSupervisor::stop(std::int64_t pid) {
    has_daemon_ = false;
    daemon_.close();
    // The caller writes it down before the daemon begins to end.
    next_verify_ = {};
    if (state_.phase != MpsPhase::stopping) return enter(MpsPhase::stopping, "");
    const auto now = clock_.steady();
    if (!quit_at_) {
        quit_at_ = now;
        // Whether it was taken shows in the process.
        (void)daemon_.execute(mps::kQuit);
        return;
    }
    if (now - *quit_at_ < kQuit) return;
    if (const auto killed = daemon_.kill(pid); !killed)
        enter(MpsPhase::stopping, killed.error().text);
}

bool ControlSupervisor::finish_stop() {
    has_daemon_ = false;
    daemon_.close();
    if (const auto cleared = daemon_.clear(); !cleared) {
        enter(MpsPhase::stopping, cleared.error().text);
        return false;
    }
    const auto mode = modes_.get(gpu_);
    Result<> admits = mode ? Result<>() : Result<>(fail(mode.error()));
    if (mode && *mode == ComputeMode::exclusive) admits = modes_.set(gpu_, ComputeMode::shared);
    // A GPU that is gone, or that has no modes, has none to restore.
    if (admits || admits.error().code == Code::not_found ||
        admits.error().code == Code::unsupported) {
        return true;
    }
    enter(MpsPhase::stopping, admits.error().text);
    return false;
}

Result<> ControlSupervisor::reconcile(const MpsSettings& wanted) {
    TRY_VOID(admit_only_mps());
    TRY_VOID(reconcile_threads(wanted));
    TRY_VOID(reconcile_memory(wanted));
    if (must_hold_) TRY_VOID(hold_gpu());
    TRY_VOID(reconcile_servers(wanted));
    TRY_VOID(daemon_.open());
    TRY(state_.protects_settings, protects_settings(wanted));
    state_.settings = {.threads = wanted.threads, .memory = whole_mebibytes(wanted.memory)};
    return {};
}

Result<> ControlSupervisor::reconcile_threads(const MpsSettings& wanted) {
    TRY(auto now, read_percent(mps::kGetDefaultThreads));
    if (now != milli(wanted.threads)) {
        TRY_VOID(execute(mps::set_default_threads(wanted.threads)));
        TRY(now, read_percent(mps::kGetDefaultThreads));
    }
    if (now == milli(wanted.threads)) return {};
    return not_taken(fmt::format("{} % of the GPU's threads as default", wanted.threads.value));
}

// The daemon shows a limit rounded, so one that looks right may be another: it is always set.
Result<> ControlSupervisor::reconcile_memory(const MpsSettings& wanted) {
    TRY(const std::string answer, execute(mps::set_default_memory(wanted.memory)));
    TRY_VOID(mps::check_taken(answer));
    TRY(const auto shown, read_memory_limit(mps::kGetDefaultMemory));
    if (mps::shows_memory(shown, wanted.memory)) return {};
    return not_taken(fmt::format("{} of memory as default", to_string(wanted.memory)));
}

Result<> ControlSupervisor::reconcile_servers(const MpsSettings& wanted) {
    TRY(const auto servers, server_pids());
    std::int64_t starting = 0;
    for (const std::int64_t server : servers) {
        const auto reconciled = reconcile_server(server, wanted);
        // It may have ended meanwhile, and the next one begins with the defaults.
        if (!reconciled && reconciled.error().code == Code::not_found) continue;
        if (!reconciled) return fail(reconciled.error());
        if (*reconciled == ServerLimits::starting) starting = server;
        if (*reconciled == ServerLimits::lacking) {
            return not_taken(fmt::format("{} % of the threads and {} of memory for the server {}",
                                         wanted.threads.value, to_string(wanted.memory), server));
        }
    }
    if (starting == 0) {
        server_tries_ = 0;
        return {};
    }
    next_verify_ = {};
    if (++server_tries_ < kServerTries) return {};
    return fail(Code::conflict, fmt::format("the MPS server {} does not finish its start, or does "
                                            "not take its limits",
                                            starting));
}

Result<ControlSupervisor::ServerLimits> ControlSupervisor::reconcile_server(
    std::int64_t server, const MpsSettings& wanted) {
    TRY(const std::string status, execute(mps::get_status(server)));
    TRY(const auto condition, mps::read_status(status));
    // It has a copy of the defaults, which are right already.
    if (condition == mps::ServerStatus::starting) return ServerLimits::starting;
    if (condition == mps::ServerStatus::fault) {
        note_faulted(server);
        return fail(Code::conflict,
                    fmt::format("the MPS server {} has had a fatal error of one of its programs. "
                                "All of its programs got it, and new ones can start in some "
                                "seconds",
                                server));
    }
    TRY(auto threads, read_percent(mps::get_threads(server)));
    if (threads != milli(wanted.threads)) {
        TRY_VOID(execute(mps::set_threads(server, wanted.threads)));
        TRY(threads, read_percent(mps::get_threads(server)));
    }
    TRY(const std::string answer, execute(mps::set_memory(server, wanted.memory)));
    TRY_VOID(mps::check_taken(answer));
    TRY(const auto shown, read_memory_limit(mps::get_memory(server)));
    if (threads == milli(wanted.threads) && mps::shows_memory(shown, wanted.memory))
        return ServerLimits::in_force;
    // The driver 535 does not say whether a server is still starting.
    return condition == mps::ServerStatus::unknown ? ServerLimits::starting : ServerLimits::lacking;
}

void ControlSupervisor::note_faulted(std::int64_t server) {
    next_verify_ = {};
    if (server == faulted_server_) return;
    faulted_server_ = server;
    faulted_since_ = clock_.steady();
}

// Its clients have no GPU any more. Those that do not end would keep it from others.
void ControlSupervisor::end_faulted_server() {
    if (faulted_server_ == 0 || clock_.steady() - faulted_since_ < kFaulted) return;
    const std::int64_t server = std::exchange(faulted_server_, 0);
    ended_server_ = server;
    const bool is_left = std::ranges::any_of(
        state_.servers, [&](const MpsServer& one) { return one.pid == server; });
    next_verify_ = {};
    if (!is_left) return;
    if (const auto ended = daemon_.end_server(server); !ended)
        enter(MpsPhase::failed, ended.error().text);
}

// A server that has the GPU keeps it from all programs that do not use MPS. Without one, the first
// of these would get the whole GPU, and no server could start.
Result<> ControlSupervisor::hold_gpu() {
    constexpr std::chrono::milliseconds kPause{100};
    for (int i = 0; i < kHoldTries; ++i) {
        TRY(auto servers, server_pids());
        std::erase(servers, ended_server_);  // the daemon may not have noticed yet
        if (!servers.empty()) return {};
        if (i % 5 == 0) {
            TRY_VOID(execute(mps::kStartServer));
        } else {
            clock_.sleep_for(kPause);
        }
    }
    return fail(Code::conflict,
                "no MPS server can start on the GPU; daemon.log in its folder logs says why. A "
                "program that does not use MPS may have the GPU: find it with nvidia-smi, and end "
                "it");
}

void ControlSupervisor::follow_clients() {
    note_faults();  // while the last list names their pods
    if (!has_answered_) return;
    if (const auto servers = list_servers()) lose_servers(*servers);
}

// These are the servers now. Counts those that are no longer there, although their clients had not
// left.
void ControlSupervisor::lose_servers(const std::vector<MpsServer>& now) {
    for (const MpsServer& server : state_.servers) {
        if (server.clients.empty()) continue;
        if (std::ranges::find(now, server.pid, &MpsServer::pid) == now.end()) state_.servers_lost++;
    }
    state_.servers = now;
}

// The log alone proves nothing: a program in a container can have any line written, as if it were
// one of the server (docs/research/mps-debian.md). It cannot give another one's server an error,
// unless it has a fatal error itself, and then both are named.
void ControlSupervisor::note_faults() {
    constexpr std::size_t kMostNamed = 64;
    std::vector<std::int64_t> named = daemon_.faulted_clients();
    std::ranges::sort(named);
    named.erase(std::ranges::unique(named).begin(), named.end());
    if (named.size() > kMostNamed) named.resize(kMostNamed);
    std::vector<MpsClient> clients;
    clients.reserve(named.size());
    for (const std::int64_t pid : named)
        clients.push_back(client_of(pid));
    const bool are_of_one_pod = std::ranges::all_of(
        clients, [&](const MpsClient& client) { return client.pod == clients.front().pod; });
    std::map<std::int64_t, std::optional<bool>> shown;  // by server
    for (const MpsClient& client : clients) {
        const std::int64_t before = state_.faults.empty() ? 0 : state_.faults.back().unix_ns;
        MpsFault fault{.client = client, .unix_ns = std::max(clock_.unix_ns(), before + 1)};
        if (const MpsServer* server = server_of(client.pid)) {
            const auto [at, is_new] = shown.try_emplace(server->pid);
            if (is_new) at->second = shows_fault(*server);
            fault.is_confirmed = at->second == std::optional(true) && are_of_one_pod &&
                                 server->pid != confirmed_server_;
            if (at->second != std::optional(false)) note_faulted(server->pid);
            if (fault.is_confirmed) confirmed_server_ = server->pid;
        }
        state_.faults.push_back(std::move(fault));
        if (state_.faults.size() > MpsState::kMostFaults)
            state_.faults.erase(state_.faults.begin());
    }
}

const MpsServer* ControlSupervisor::server_of(std::int64_t client) const {
    const auto at = std::ranges::find_if(state_.servers, [&](const MpsServer& server) {
        return std::ranges::find(server.clients, client, &MpsClient::pid) != server.clients.end();
    });
    return at == state_.servers.end() ? nullptr : &*at;
}

// It has the state, or has ended, or has lost all of its clients: without any it is usable again.
// The driver 535 does not say the state.
std::optional<bool> ControlSupervisor::shows_fault(const MpsServer& before) {
    const auto servers = server_pids();
    if (!servers) return std::nullopt;
    if (std::ranges::find(*servers, before.pid) == servers->end()) return true;
    const auto answer = execute(mps::get_clients(before.pid));
    const auto clients = answer ? mps::read_pids(*answer) : fail(answer.error());
    const bool have_left = clients && std::ranges::none_of(before.clients, [&](const auto& client) {
                               return std::ranges::find(*clients, client.pid) != clients->end();
                           });
    if (have_left) return true;
    const auto text = execute(mps::get_status(before.pid));
    const auto status = text ? mps::read_status(*text) : fail(text.error());
    if (!status || *status == mps::ServerStatus::unknown) return std::nullopt;
    return *status == mps::ServerStatus::fault;
}

Result<std::vector<std::int64_t>> ControlSupervisor::server_pids() {
    TRY(const std::string list, execute(mps::kGetServers));
    return mps::read_pids(list);
}

Result<std::vector<MpsServer>> ControlSupervisor::list_servers() {
    TRY(const auto pids, server_pids());
    std::vector<MpsServer> servers;
    for (const std::int64_t pid : pids) {
        TRY(const std::string answer, execute(mps::get_clients(pid)));
        const auto clients = mps::read_pids(answer);
        MpsServer server{.pid = pid, .clients = {}};
        // A server that ended meanwhile has none.
        for (const std::int64_t client : clients.value_or(std::vector<std::int64_t>()))
            server.clients.push_back(client_of(client));
        servers.push_back(std::move(server));
    }
    return servers;
}

// A process that has ended is known by the last list.
MpsClient ControlSupervisor::client_of(std::int64_t pid) {
    for (const MpsServer& server : state_.servers) {
        const auto known = std::ranges::find(server.clients, pid, &MpsClient::pid);
        if (known != server.clients.end() && !known->pod.empty()) return *known;
    }
    return {.pid = pid, .pod = processes_.pod_of(pid).value_or(PodUid())};
}

Result<> ControlSupervisor::admit_only_mps() {
    TRY(const ComputeMode mode, modes_.get(gpu_));
    if (mode == ComputeMode::exclusive) return {};
    if (mode == ComputeMode::prohibited) {
        return fail(Code::conflict,
                    fmt::format("the GPU's compute mode is PROHIBITED, which Tessera does not "
                                "change; run: nvidia-smi -i {} -c DEFAULT",
                                gpu_.str()));
    }
    TRY_VOID(modes_.set(gpu_, ComputeMode::exclusive));
    TRY(const ComputeMode read, modes_.get(gpu_));
    if (read == ComputeMode::exclusive) return {};
    return fail(Code::conflict, "the driver does not keep the compute mode EXCLUSIVE_PROCESS");
}

Result<bool> ControlSupervisor::protects_settings(const MpsSettings& wanted) {
    TRY(const std::string answer,
        daemon_.execute_as_tenant(mps::set_default_threads(wanted.threads)));
    const auto taken = mps::read_milli_percent(answer);
    if (taken) return false;
    if (taken.error().code == Code::permission_denied) return true;
    return fail(taken.error());
}

Result<std::string> ControlSupervisor::execute(std::string_view command) {
    auto answer = daemon_.execute(command);
    if (!answer && answer.error().code == Code::unavailable) has_answered_ = false;
    return answer;
}

Result<std::int64_t> ControlSupervisor::read_percent(std::string_view command) {
    TRY(const std::string answer, execute(command));
    return mps::read_milli_percent(answer);
}

Result<std::optional<Bytes>> ControlSupervisor::read_memory_limit(std::string_view command) {
    TRY(const std::string answer, execute(command));
    return mps::read_memory(answer);
}

void ControlSupervisor::fail_and_pause(const std::string& reason) {
    has_daemon_ = false;
    // 1, 2, 4 ... seconds.
    const auto pause = std::min(kLongestPause, std::chrono::seconds(1 << std::min(failures_, 6)));
    failures_++;
    state_.failures++;
    next_start_ = clock_.steady() + pause;
    enter(MpsPhase::failed, fmt::format("{}; it is started again in {} s", reason, pause.count()));
}

void ControlSupervisor::enter(MpsPhase phase, const std::string& reason) {
    if (state_.phase == phase && state_.reason == reason) return;
    state_.phase = phase;
    state_.reason = reason;
    const Event event =
        phase == MpsPhase::failed ? Event::mps_daemon_failed : Event::mps_daemon_changed;
    log_event(event, {{"gpu", gpu_.str()},
                      {"phase", std::string(mps_phase_name(phase))},
                      {"pid", state_.pid},
                      {"reason", reason}});
}

}  // namespace tessera
