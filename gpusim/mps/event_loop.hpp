// The loop of the daemon over its sockets, its servers and their ends. event_loop.cpp has front
// ends and servers, event_clients.cpp has clients.
#pragma once

#include <poll.h>

#include "api/nvidia/cuda.h"
#include "gpusim/mps/commands.hpp"
#include "gpusim/mps/connection.hpp"
#include "gpusim/mps/log.hpp"
#include "gpusim/mps/pipe_directory.hpp"

namespace gpusim::mps {

class EventLoop {
  public:
    struct Plan {
        Version version = Version::v550;
        PipeDirectory* directory = nullptr;
        Log log;
        int server_output_fd = -1;  // -1: the daemon's stdout
    };
    explicit EventLoop(const Plan& plan);

    // Until `quit`. Returns the exit status: 1 if any server failed.
    int run();

  private:
    static constexpr int kMaxConnections = 256;
    static constexpr int kMaxPolled = kMaxConnections + kMaxServers + 3;

    // The channel of a server, beside its row in Control.
    struct Channel {
        pid_t pid = 0;
        int fd = -1;
    };

    int poll_timeout_ms();
    void accept_all(int listener, bool privileged);
    void serve(Connection& connection);
    void run_commands(Connection& connection);
    bool is_open(const Connection* connection) const;
    void run_command(Connection& connection, char* line);
    void apply(Connection& connection, const Outcome& outcome);
    void start(Connection& connection, uid_t uid);
    void begin_quit(Connection& connection, int timeout_s);
    void finish_quit();
    void read_channel(Channel& channel);
    void close_channel(pid_t pid);
    void collect_servers();
    void answer_waiters(pid_t pid);
    void answer(Connection& connection);
    void log_answer() const;
    void drop(Connection& connection);
    Connection** place_for_peer();
    pid_t start_process(uid_t uid);
    // The server ends when it has no clients, or at once if it has none.
    void end_when_idle(Server& server);

    void serve_client(Connection& connection);
    void take_report(Client& client, const Report& report);
    // Admits the clients that wait for a server, or starts and ends servers for them.
    void admit_waiting();
    void admit(Connection& connection);
    bool has_earlier_of_other_user(const Connection& connection) const;
    bool end_servers_of_others(uid_t uid);
    void welcome(Connection& connection, const Server& server);
    void refuse(Connection& connection, CUresult error);
    void refuse_waiting(uid_t uid);
    void fail_clients(const Server& server, pid_t culprit, const Report& fault);
    void lose_clients(pid_t server);
    void terminate(pid_t server, pid_t client);
    void end_client(const Client& client, std::uint32_t error, bool is_culprit = false);
    void after_client_left(pid_t server);

    Plan plan_;
    Control control_;
    int signals_fd_ = -1;
    Connection* connections_[kMaxConnections] = {};
    int next_victim_ = 0;
    std::uint64_t tickets_ = 0;
    Channel channels_[kMaxServers];
    Answer answer_;
    char line_[kMaxCommand + 1] = {};
    bool quitting_ = false;
    bool done_ = false;
    long quit_deadline_ms_ = -1;
    Connection* quit_caller_ = nullptr;
    unsigned exit_status_ = 0;
};

}  // namespace gpusim::mps
