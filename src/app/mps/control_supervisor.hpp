// Keeps the control daemon of NVIDIA MPS on one GPU as the agent wants it: starts it, sets its
// limits, reads them back, restarts a daemon that ended, and ends it.
//
// It has no state that must survive: a supervisor that starts again adopts the daemon that runs,
// and clients do not notice. Clients can connect only while the settings were read back. The GPU
// admits a single process, the MPS server. So while a server runs, a program that does not reach
// the daemon fails, and does not run without a limit.
//
// A daemon that does not answer is ended only if it has no server. Any process in a container can
// make it wait (docs/research/mps-debian.md), and programs that are connected need it no more.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/mps/mps_state.hpp"
#include "ports/clock.hpp"
#include "ports/mps/compute_modes.hpp"
#include "ports/mps/control_daemon.hpp"
#include "ports/process_table.hpp"

namespace tessera {

// Used by one thread.
class ControlSupervisor {
  public:
    static constexpr std::chrono::seconds kLook{1};    // the period in which look() is called
    static constexpr std::chrono::seconds kVerify{5};  // settings are read back this often
    static constexpr int kSilences = 3;     // that many in a row end a daemon without servers
    static constexpr int kHoldTries = 20;   // looks, mostly 100 ms apart, for a started server
    static constexpr int kServerTries = 5;  // checks in a row that may find one starting
    // A server with a fatal error is ended after this, whether its clients have ended or not.
    static constexpr std::chrono::seconds kFaulted{5};
    static constexpr std::chrono::seconds kQuit{10};  // a daemon that does not end in it is killed
    static constexpr std::chrono::seconds kLongestPause{60};  // before a start after a failure
    static constexpr std::chrono::seconds kStable{60};        // failures are forgotten after this

    // The references outlive this.
    // must_hold: a server must have the GPU before clients can connect. False where there is no
    // GPU.
    ControlSupervisor(GpuUuid gpu, ControlDaemon& daemon, ComputeModes& modes,
                      ProcessTable& processes, Clock& clock, bool must_hold = true)
        : gpu_(std::move(gpu)),
          daemon_(daemon),
          modes_(modes),
          processes_(processes),
          clock_(clock),
          must_hold_(must_hold) {
        state_.gpu = gpu_;
    }

    // Does the next step of what is due. Returns what is so now; nothing if no daemon is wanted and
    // none is left. In the phase `starting` the next step is due at once. Takes up to a minute
    // when a daemon does not answer, start or end.
    std::optional<MpsState> look(const std::optional<MpsSettings>& wanted);
    // What is so, when it is not known what is wanted. Clients cannot connect; nothing else
    // changes.
    MpsState observe();

  private:
    enum class ServerLimits { in_force, starting, lacking };

    void begin(const MpsSettings& wanted, bool was_starting);
    void check(std::int64_t pid, const MpsSettings& wanted);
    void take_silence(std::int64_t pid, const Error& error);
    void stop(std::int64_t pid);
    // Returns whether all of it is done.
    bool finish_stop();

    // What the clients do, for those who read the state.
    void follow_clients();
    void lose_servers(const std::vector<MpsServer>& now);
    void note_faults();
    [[nodiscard]] Result<std::vector<std::int64_t>> server_pids();
    [[nodiscard]] Result<std::vector<MpsServer>> list_servers();
    MpsClient client_of(std::int64_t pid);
    void note_faulted(std::int64_t server);
    // By the last list; null: of none.
    [[nodiscard]] const MpsServer* server_of(std::int64_t client) const;
    // Whether a fatal error has ended the clients that the server had. Nothing: it cannot be known.
    [[nodiscard]] std::optional<bool> shows_fault(const MpsServer& before);
    void end_faulted_server();

    // Brings the daemon's settings to what is wanted, and returns only after reading them back.
    Result<> reconcile(const MpsSettings& wanted);
    Result<> reconcile_threads(const MpsSettings& wanted);
    Result<> reconcile_memory(const MpsSettings& wanted);
    Result<> reconcile_servers(const MpsSettings& wanted);
    Result<ServerLimits> reconcile_server(std::int64_t server, const MpsSettings& wanted);
    Result<> admit_only_mps();
    Result<> hold_gpu();
    // Whether the daemon refuses this setting, which it has already, from a process in a container.
    Result<bool> protects_settings(const MpsSettings& wanted);

    Result<std::string> execute(std::string_view command);
    Result<std::int64_t> read_percent(std::string_view command);
    Result<std::optional<Bytes>> read_memory_limit(std::string_view command);

    void fail_and_pause(const std::string& reason);
    void enter(MpsPhase phase, const std::string& reason);

    const GpuUuid gpu_;
    ControlDaemon& daemon_;
    ComputeModes& modes_;
    ProcessTable& processes_;
    Clock& clock_;
    const bool must_hold_;

    MpsState state_;
    MpsSettings wanted_;       // at the last look
    bool has_daemon_ = false;  // one ran at the last look
    std::int64_t verified_pid_ = 0;
    bool is_starting_ = false;
    bool has_answered_ = true;
    int silences_ = 0;      // in a row
    int server_tries_ = 0;  // in a row
    std::int64_t faulted_server_ = 0;
    std::int64_t ended_server_ = 0;
    std::int64_t confirmed_server_ = 0;  // the last one of which a fault was confirmed
    std::chrono::nanoseconds faulted_since_{};
    int failures_ = 0;  // since it was last stable
    std::chrono::nanoseconds next_start_{};
    std::chrono::nanoseconds next_verify_{};
    std::chrono::nanoseconds ready_since_{};
    std::optional<std::chrono::nanoseconds> quit_at_;
};

}  // namespace tessera
