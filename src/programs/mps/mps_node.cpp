#include "programs/mps/mps_node.hpp"

#include <chrono>

#include "adapters/mps/bounded_log.hpp"
#include "adapters/os/proc_table.hpp"
#include "app/mps/control_supervisor.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

// To end the daemons, before kubelet kills the container (terminationGracePeriodSeconds of the
// chart: 150). A look that is under way when SIGTERM comes may take a minute before that.
constexpr std::chrono::seconds kEnd{60};

// Writes a state when it has changed, and often enough that its reader sees that we live.
class StateFile {
  public:
    StateFile(MpsFolder& folder, Clock& clock) : folder_(folder), clock_(clock) {}

    void write(const MpsState& state) {
        const bool is_same = same(state, written_);
        if (is_same && clock_.steady() < next_) return;
        const auto result = folder_.write_state(state);
        if (result) {
            written_ = state;
            next_ = clock_.steady() + ControlSupervisor::kVerify;
            error_.clear();
        } else if (result.error().text != error_) {
            error_ = result.error().text;
            log_event(Event::mps_state_error, {{"gpu", state.gpu.str()}, {"reason", error_}});
        }
    }

  private:
    static bool same(MpsState one, const MpsState& other) {
        one.checked_unix_ns = other.checked_unix_ns;
        return one == other;
    }

    MpsFolder& folder_;
    Clock& clock_;
    MpsState written_;
    std::chrono::nanoseconds next_{};
    std::string error_;
};

// Returns whether it has ended. The container's runtime would kill the daemon, and leave the GPU in
// a mode in which it admits no second process.
bool end_daemon(ControlSupervisor& supervisor, StateFile& file, Clock& clock) {
    constexpr std::chrono::milliseconds kPause{200};
    const auto until = clock.steady() + kEnd;
    while (const auto state = supervisor.look(std::nullopt)) {
        file.write(*state);
        if (clock.steady() >= until) {
            log_event(Event::mps_daemon_failed, {{"gpu", state->gpu.str()},
                                                 {"phase", "stopping"},
                                                 {"pid", state->pid},
                                                 {"reason",
                                                  "it does not end; the GPU stays in MPS "
                                                  "mode"}});
            return false;
        }
        clock.sleep_for(kPause);
    }
    return true;
}

}  // namespace

void MpsNode::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        std::erase_if(supervised_, [](const auto& entry) { return entry.second.has_ended.load(); });
        for (const GpuUuid& gpu : folder_.gpus()) {
            const auto [entry, is_new] = supervised_.try_emplace(gpu);
            if (!is_new) continue;
            Supervised& made = entry->second;
            made.thread = std::jthread([this, gpu, stop, &made] {
                supervise(gpu, stop);
                made.has_ended = true;
            });
        }
        clock_.sleep_for(ControlSupervisor::kLook, stop);
    }
    supervised_.clear();
}

void MpsNode::supervise(const GpuUuid& gpu, const std::stop_token& stop) {
    VendorControlDaemon daemon(gpu, folder_.paths(gpu), programs_);
    const auto modes = new_modes_();
    ProcTable processes;
    ControlSupervisor supervisor(gpu, daemon, *modes, processes, clock_);
    StateFile file(folder_, clock_);
    std::optional<MpsSettings> wanted;
    while (!stop.stop_requested()) {
        const auto read = folder_.wanted(gpu);
        if (read) wanted = *read;
        // What cannot be read changes nothing: tenants of a daemon that runs stay limited.
        auto state = read || wanted ? supervisor.look(wanted) : supervisor.observe();
        if (!read && state) {
            if (!wanted) state->phase = MpsPhase::failed;
            if (!state->reason.empty()) state->reason += "; ";
            state->reason += read.error().text;
        }
        if (!state) return folder_.forget(gpu);
        file.write(*state);
        keep_logs_small(folder_.paths(gpu).logs());  // the supervisor has read them
        if (state->phase != MpsPhase::starting) clock_.sleep_for(ControlSupervisor::kLook, stop);
    }
    if (!end_daemon(supervisor, file, clock_)) return;
    const auto last = folder_.wanted(gpu);
    if (last && !*last) return folder_.forget(gpu);
    file.write({.gpu = gpu,
                .phase = MpsPhase::failed,
                .reason = "tessera-mps was ended, and MPS with it",
                .checked_unix_ns = clock_.unix_ns()});
}

}  // namespace tessera
