#include "app/mps/control_supervisor.hpp"

#include <fmt/format.h>

#include <algorithm>
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

tl::unexpected<Error> is_kept(std::string_view setting) {
    return fail(Code::conflict,
                fmt::format("MPS's control daemon does not take {}; daemon.log beside its pipes "
                            "says why",
                            setting));
}

}  // namespace

std::optional<MpsState> ControlSupervisor::look(const std::optional<MpsSettings>& wanted) {
    const auto pid = daemon_.pid();
    state_.gpu = gpu_;
    state_.pid = pid.value_or(0);
    state_.checked_unix_ns = clock_.unix_ns();
    if (!wanted) {
        if (pid) {
            stop(*pid);
        } else if (finish_stop()) {
            return std::nullopt;
        }
        return state_;
    }
    if (quit_at_ || *wanted != wanted_) {
        next_verify_ = {};
        sets_memory_ = true;
    }
    quit_at_.reset();
    wanted_ = *wanted;
    if (pid) {
        check(*pid, *wanted);
    } else {
        begin(*wanted);
    }
    return state_;
}

void ControlSupervisor::begin(const MpsSettings& wanted) {
    daemon_.close();
    if (has_daemon_) return fail_and_pause("MPS's control daemon ended");
    if (clock_.steady() < next_start_) return;
    daemon_.clear();
    enter(MpsPhase::starting, "");
    const Result<> admits = admit_only_mps();
    const Result<> started = admits ? daemon_.start() : admits;
    if (!started) return fail_and_pause(started.error().text);
    const auto pid = daemon_.pid();
    if (!pid) return fail_and_pause("MPS's control daemon ended while it started");
    state_.pid = *pid;
    next_verify_ = {};
    sets_memory_ = true;
    silences_ = 0;
    check(*pid, wanted);
}

void ControlSupervisor::check(std::int64_t pid, const MpsSettings& wanted) {
    has_daemon_ = true;
    const auto now = clock_.steady();
    if (state_.phase == MpsPhase::ready && now - ready_since_ >= kStable) failures_ = 0;
    if (now < next_verify_) return;
    next_verify_ = now + kVerify;
    has_answered_ = true;
    const Result<> reconciled = reconcile(wanted);
    if (reconciled) {
        silences_ = 0;
        if (state_.phase != MpsPhase::ready) ready_since_ = now;
        return enter(MpsPhase::ready, "");
    }
    // A client that connects now might not be limited.
    daemon_.close();
    enter(MpsPhase::failed, reconciled.error().text);
    if (has_answered_) {
        silences_ = 0;
        return;
    }
    next_verify_ = {};
    if (++silences_ < kSilences) return;
    silences_ = 0;
    if (const auto killed = daemon_.kill(pid); !killed) {
        return enter(MpsPhase::failed, killed.error().text);
    }
    state_.pid = 0;
    fail_and_pause(
        fmt::format("MPS's control daemon did not answer {} times in a row and was "
                    "killed ({})",
                    kSilences, reconciled.error().text));
}

void ControlSupervisor::stop(std::int64_t pid) {
    has_daemon_ = false;
    daemon_.close();
    enter(MpsPhase::stopping, "");
    const auto now = clock_.steady();
    if (!quit_at_) {
        quit_at_ = now;
        // Whether it was taken shows in the process.
        (void)daemon_.execute(mps::kQuit);
        return;
    }
    if (now - *quit_at_ < kQuit) return;
    if (const auto killed = daemon_.kill(pid); !killed) {
        enter(MpsPhase::stopping, killed.error().text);
    }
}

bool ControlSupervisor::finish_stop() {
    has_daemon_ = false;
    daemon_.close();
    daemon_.clear();
    const auto mode = modes_.get(gpu_);
    Result<> admits = mode ? Result<>() : Result<>(fail(mode.error()));
    if (mode && *mode == ComputeMode::exclusive) admits = modes_.set(gpu_, ComputeMode::shared);
    // A GPU that is gone has no mode to restore.
    if (admits || admits.error().code == Code::not_found) return true;
    enter(MpsPhase::stopping, admits.error().text);
    return false;
}

Result<> ControlSupervisor::reconcile(const MpsSettings& wanted) {
    TRY_VOID(admit_only_mps());
    TRY_VOID(reconcile_threads(wanted));
    TRY_VOID(reconcile_memory(wanted));
    TRY(const std::string list, execute(mps::kGetServers));
    TRY(const auto servers, mps::read_pids(list));
    for (const std::int64_t server : servers) {
        const auto reconciled = reconcile_server(server, wanted);
        // It may have ended meanwhile, and the next one begins with the defaults.
        if (!reconciled && reconciled.error().code != Code::not_found) return reconciled;
    }
    sets_memory_ = false;
    TRY_VOID(daemon_.open());
    TRY(state_.protects_settings, protects_settings(wanted));
    state_.settings = {.threads = wanted.threads, .memory = whole_mebibytes(wanted.memory)};
    return {};
}

Result<> ControlSupervisor::reconcile_threads(const MpsSettings& wanted) {
    TRY(const auto now, read_percent(mps::kGetDefaultThreads));
    if (now == milli(wanted.threads)) return {};
    TRY(const auto set, read_percent(mps::set_default_threads(wanted.threads)));
    TRY(const auto read, read_percent(mps::kGetDefaultThreads));
    if (set == milli(wanted.threads) && read == set) return {};
    return is_kept(fmt::format("{} % of the GPU's threads as default", wanted.threads.value));
}

Result<> ControlSupervisor::reconcile_memory(const MpsSettings& wanted) {
    TRY(auto shown, read_memory_limit(mps::kGetDefaultMemory));
    if (sets_memory_ || !mps::shows_memory(shown, wanted.memory)) {
        TRY(const std::string answer, execute(mps::set_default_memory(wanted.memory)));
        TRY_VOID(mps::read_nothing(answer));
        TRY(shown, read_memory_limit(mps::kGetDefaultMemory));
    }
    if (mps::shows_memory(shown, wanted.memory)) return {};
    return is_kept(fmt::format("{} of memory as default", to_string(wanted.memory)));
}

Result<> ControlSupervisor::reconcile_server(std::int64_t server, const MpsSettings& wanted) {
    TRY(auto threads, read_percent(mps::get_threads(server)));
    if (threads != milli(wanted.threads)) {
        TRY_VOID(read_percent(mps::set_threads(server, wanted.threads)));
        TRY(threads, read_percent(mps::get_threads(server)));
    }
    TRY(auto shown, read_memory_limit(mps::get_memory(server)));
    if (sets_memory_ || !mps::shows_memory(shown, wanted.memory)) {
        TRY(const std::string answer, execute(mps::set_memory(server, wanted.memory)));
        TRY_VOID(mps::read_nothing(answer));
        TRY(shown, read_memory_limit(mps::get_memory(server)));
    }
    if (threads == milli(wanted.threads) && mps::shows_memory(shown, wanted.memory)) return {};
    return is_kept(fmt::format("{} % of the threads and {} of memory for the server {}",
                               wanted.threads.value, to_string(wanted.memory), server));
}

Result<> ControlSupervisor::admit_only_mps() {
    TRY(const ComputeMode mode, modes_.get(gpu_));
    if (mode == ComputeMode::exclusive) return {};
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
    if (!answer) has_answered_ = false;
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
    state_.restarts++;
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
