// tessera-mpi-shell as two real processes over the loopback: what ssh would do, and what it must
// refuse.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "programs/common/started_program_test.hpp"
#include "wire/shell/shell_protocol.hpp"

namespace tessera {
namespace {

constexpr const char* kProgram = "tessera-mpi-shell";
constexpr int kNotRun = 255;

struct Done {
    int status = 0;
    std::string output;  // and errors
};

class MpiShellTest : public ::testing::Test {
  protected:
    MpiShellTest() {
        write("key", std::string(64, 'a'));
        write("other", std::string(64, 'b'));
        ::setenv("TESSERA_MPI_SECRET_FILE", folder_.file("key").c_str(), 1);
        ::setenv("TESSERA_MPI_PORT", "0", 1);
        server_.emplace(kProgram, std::vector<std::string>{"serve"}, folder_.file("server"));
        wait_for([&] { return log().find("\"port\":") != std::string::npos; });
        const std::string text = log();
        port_ = std::stoi(text.substr(text.find("\"port\":") + 7));
        ::setenv("TESSERA_MPI_PORT", std::to_string(port_).c_str(), 1);
    }

    void write(const std::string& name, const std::string& text) {
        std::ofstream(folder_.file(name)) << text;
    }
    [[nodiscard]] std::string log() const { return server_->output(); }

    template <class Condition>
    static void wait_for(Condition condition) {
        const auto end = std::chrono::steady_clock::now() + kNotHanging;
        while (!condition() && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        EXPECT_TRUE(condition());
    }

    std::unique_ptr<Program> start(const std::string& command, const std::string& output) {
        return std::make_unique<Program>(
            kProgram, std::vector<std::string>{"rsh", "127.0.0.1", command}, folder_.file(output));
    }
    Done call(const std::string& command) {
        const auto program = start(command, "call");
        const int status = program->wait(kNotHanging);
        return {status, program->output()};
    }

    // A connection that speaks what the test says.
    [[nodiscard]] int raw() const {
        const int out = ::socket(AF_INET, SOCK_STREAM, 0);
        if (out < 0) {
            ADD_FAILURE() << "socket";
            return out;
        }
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port_));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(out, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        return out;
    }
    static std::string read_some(int socket, std::size_t size) {
        std::string out(size, '\0');
        const ssize_t got = ::recv(socket, out.data(), size, MSG_WAITALL);
        out.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        return out;
    }
    static void send_all(int socket, const std::string& text) {
        EXPECT_EQ(::send(socket, text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
    }
    // A connection that has proved to have the secret.
    [[nodiscard]] int proved() const {
        const int out = raw();
        const std::string theirs = read_greeting(read_some(out, kGreetingBytes)).value();
        const std::string ours(kNonceBytes, 'n');
        const std::string secret(64, 'a');
        send_all(out, ours + shell_proof(secret, ShellSide::client, theirs, ours));
        EXPECT_EQ(read_some(out, kProofBytes),
                  shell_proof(secret, ShellSide::server, theirs, ours));
        return out;
    }

    Folder folder_;
    std::optional<Program> server_;
    int port_ = 0;
};

TEST_F(MpiShellTest, OutputAndExitStatus) {
    const Done done = call("echo out; echo errors >&2; exit 3");
    EXPECT_EQ(done.status, 3);
    EXPECT_EQ(done.output, "out\nerrors\n");
    EXPECT_EQ(call("true").status, 0);
    EXPECT_EQ(call("kill -9 $$").status, 128 + SIGKILL);
    EXPECT_EQ(call("kill -TERM $$").status, 128 + SIGTERM);
    EXPECT_EQ(call("no-such-program").status, 127);
    EXPECT_EQ(call("cat").output, "") << "it has no input";
    const std::string agent = std::string(TESSERA_BINARY_DIR) + "/bin/" + kProgram;
    EXPECT_EQ(std::system((agent + " rsh 127.0.0.1 'exit 7' <&- >&- 2>&-").c_str()), 7 << 8);
}

TEST_F(MpiShellTest, SixtyFourMebibytesInBothDirections) {
    const std::string agent =
        std::string(TESSERA_BINARY_DIR) + "/bin/" + kProgram + " rsh 127.0.0.1";
    write("both",
          "head -c 67108864 /dev/zero | tr '\\0' x | " + agent + " cat | tr -d '\\n' | wc -c");
    EXPECT_EQ(std::system(("sh " + folder_.file("both") + " > " + folder_.file("count")).c_str()),
              0);
    std::ifstream count(folder_.file("count"));
    std::size_t bytes = 0;
    count >> bytes;
    EXPECT_EQ(bytes, 67'108'864U);
    // A command that reads less than it gets, and one whose reader goes away.
    write("less", "head -c 9000000 /dev/zero | " + agent + " 'head -c 1 | wc -c'");
    EXPECT_EQ(std::system(("sh " + folder_.file("less") + " | grep -qx 1").c_str()), 0);
    EXPECT_EQ(std::system(
                  (agent + " 'yes; echo $?' </dev/null 2>&1 | head -c 100 >" + folder_.file("head"))
                      .c_str()),
              0);
}

TEST_F(MpiShellTest, ThirtyTwoAtOnce) {
    write("gate", "");
    std::vector<std::unique_ptr<Program>> programs;
    for (int i = 0; i < 32; ++i) {
        const std::string command = "echo x >> " + folder_.file("gate") + "; while [ -e " +
                                    folder_.file("key") + " ]; do sleep 0.1; done; exit " +
                                    std::to_string(i);
        programs.push_back(start(command, "many" + std::to_string(i)));
    }
    wait_for(
        [&] { return std::filesystem::file_size(folder_.file("gate")) == std::size_t{32} * 2; });
    std::filesystem::remove(folder_.file("key"));
    for (std::size_t i = 0; i < programs.size(); ++i)
        EXPECT_EQ(programs[i]->wait(kNotHanging), static_cast<int>(i));
}

TEST_F(MpiShellTest, AnotherSecret) {
    ::setenv("TESSERA_MPI_SECRET_FILE", folder_.file("other").c_str(), 1);
    const Done done = call("touch " + folder_.file("made"));
    EXPECT_EQ(done.status, kNotRun);
    EXPECT_NE(done.output.find("127.0.0.1: it refuses the secret"), std::string::npos)
        << done.output;
    EXPECT_FALSE(std::filesystem::exists(folder_.file("made")));
    EXPECT_NE(log().find("shell_client_refused"), std::string::npos);
    write("short", "abc");
    ::setenv("TESSERA_MPI_SECRET_FILE", folder_.file("short").c_str(), 1);
    EXPECT_NE(call("true").output.find("fewer than 32 characters"), std::string::npos);
}

// Goal: what a command started ends with the connection, also a process that ignores SIGTERM.
TEST_F(MpiShellTest, AKilledClientEndsItsCommand) {
    const std::string pids = folder_.file("pids");
    auto client = start("trap '' TERM; echo $$ > " + pids + ".part; mv " + pids + ".part " + pids +
                            "; sleep 1000 & sleep 1000",
                        "killed");
    wait_for([&] { return std::filesystem::exists(pids); });
    std::ifstream in(pids);
    pid_t pid = 0;
    in >> pid;
    EXPECT_EQ(::kill(-pid, 0), 0);
    client.reset();  // killed
    wait_for([&] { return ::kill(-pid, 0) != 0; });
    EXPECT_EQ(call("echo alive").output, "alive\n");
}

// Goal: mpirun's daemons outlive the command that starts them.
TEST_F(MpiShellTest, ADaemonOutlivesItsCommand) {
    const std::string file = folder_.file("daemon");
    const Done done =
        call("setsid sh -c 'sleep 1; echo x > " + file + "' </dev/null >/dev/null 2>&1 & exit 0");
    EXPECT_EQ(done.status, 0);
    wait_for([&] { return std::filesystem::exists(file); });
    // A pipe that stays open delays the exit status, and does not lose it.
    EXPECT_EQ(call("sleep 5 & echo done").output, "done\n");
}

TEST_F(MpiShellTest, GarbageAndSilence) {
    std::vector<int> silent;
    silent.reserve(300);
    for (int i = 0; i < 300; ++i)
        silent.push_back(raw());  // more than it keeps
    const int http = raw();
    send_all(http, "GET / HTTP/1.1\r\nHost: worker\r\n\r\n" + std::string(100, 'x'));
    EXPECT_EQ(read_some(http, kGreetingBytes).substr(0, 13), "tessera-shell");
    EXPECT_EQ(read_some(http, kProofBytes), kRefusal);
    const int frames = proved();
    send_all(frames, std::string("\xff\xff\xff\xff\xff\xff", 6));
    EXPECT_EQ(read_some(frames, 1), "") << "it closes";
    const int late = proved();
    send_all(late, write_shell_frame(FrameType::command, "echo $((6 * 7))"));
    EXPECT_EQ(read_some(late, 8), write_shell_frame(FrameType::output, "42\n"));
    EXPECT_EQ(call("echo alive").output, "alive\n");
    for (const int socket : silent)
        ::close(socket);
    // Wrong proofs leave places for right ones.
    silent.clear();
    for (int i = 0; i < 300; ++i) {
        silent.push_back(raw());
        send_all(silent.back(), std::string(kHelloBytes, 'x'));
    }
    EXPECT_EQ(call("echo alive").output, "alive\n");
    for (const int socket : silent)
        ::close(socket);
    for (const int socket : {http, frames, late})
        ::close(socket);
}

// Goal: a peer that reads nothing stops its own command only.
TEST_F(MpiShellTest, ASlowPeer) {
    const int slow = proved();
    send_all(slow, write_shell_frame(FrameType::command, "yes"));
    EXPECT_EQ(call("echo alive").output, "alive\n");
    EXPECT_EQ(read_some(slow, 1'000'000).size(), 1'000'000U);
    ::close(slow);
}

// Goal: what a command wrote last is not lost to a peer that reads slowly.
TEST_F(MpiShellTest, TheLastOutputOfASlowPeer) {
    constexpr std::size_t kBytes = 32'000'000;
    const int slow = proved();
    send_all(slow, write_shell_frame(FrameType::command, "head -c 32000000 /dev/zero"));
    ShellFrameReader frames(ShellSide::server);
    std::size_t got = 0;
    bool has_paused = false;
    std::string last;  // the payload of the last frame
    for (bool goes_on = true; goes_on;) {
        if (!has_paused && log().find("shell_command_ended") != std::string::npos) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1'500));
            has_paused = true;
        }
        std::array<char, 65'536> piece{};
        const ssize_t size = ::recv(slow, piece.data(), piece.size(), 0);
        if (size <= 0) break;
        frames.add({piece.data(), static_cast<std::size_t>(size)});
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        while (const auto frame = frames.next().value()) {
            if (frame->type == FrameType::output) got += frame->payload.size();
            if (frame->type == FrameType::exit) last = frame->payload;
            goes_on = frame->type != FrameType::exit;
        }
    }
    EXPECT_TRUE(has_paused);
    EXPECT_EQ(got, kBytes);
    EXPECT_EQ(last, std::string(1, '\0'));
    ::close(slow);
}

TEST_F(MpiShellTest, SigtermEndsTheCommands) {
    auto client = start("echo begun; sleep 1000", "client");
    wait_for([&] { return client->output() == "begun\n"; });
    server_->terminate();
    EXPECT_EQ(server_->wait(kNotHanging), 128 + SIGTERM) << "the worker has not succeeded";
    EXPECT_EQ(client->wait(kNotHanging), kNotRun);
    EXPECT_NE(client->output().find("the connection was lost"), std::string::npos);
}

TEST_F(MpiShellTest, LaunchWaitsForTheWorkers) {
    write("hosts", "127.0.0.1 slots=2\n# none\nlocalhost slots=2\n");
    ::setenv("TESSERA_MPI_HOSTS", folder_.file("hosts").c_str(), 1);
    const std::vector<std::string> words = {"launch", "--", "sh", "-c", "echo launched; exit 5"};
    Program launch(kProgram, words, folder_.file("launch"));
    EXPECT_EQ(launch.wait(kNotHanging), 5);
    EXPECT_EQ(launch.output(), "tessera: all 2 workers can be reached\nlaunched\n");
    write("hosts", "127.0.0.1 slots=2\nworker-1.invalid slots=2\n");
    Program waits(kProgram, words, folder_.file("waits"));
    wait_for([&] { return !waits.output().empty(); });
    EXPECT_EQ(waits.output(),
              "tessera: waiting for 1 of 2 workers; worker-1.invalid: it has no address yet\n");
    waits.terminate();
    EXPECT_EQ(waits.wait(kNotHanging), 128 + SIGTERM) << "also as the first process of a container";
}

TEST_F(MpiShellTest, InstallsItself) {
    const std::string folder = folder_.file("installed");
    std::filesystem::create_directories(folder);
    for (int i = 0; i < 2; ++i) {  // a restarted init container does it again
        Program install(kProgram, {"install", folder}, folder_.file("install"));
        EXPECT_EQ(install.wait(kNotHanging), 0) << install.output();
    }
    EXPECT_EQ(std::system((folder + "/tessera-mpi-rsh -x 127.0.0.1 exit 7").c_str()), 7 << 8);
}

TEST_F(MpiShellTest, Mistakes) {
    struct Row {
        std::vector<std::string> words;
        const char* why;
    };
    const std::vector<Row> rows = {
        {{}, "a command is missing; see --help"},
        {{"start"}, "start: is no command"},
        {{"serve", "now"}, "serve: has no arguments"},
        {{"launch", "--"}, "launch: the command is missing"},
        {{"install"}, "install: write one FOLDER"},
        {{"rsh", "host"}, "the command is missing"},
    };
    for (const Row& row : rows) {
        Program program(kProgram, row.words, folder_.file("mistake"));
        EXPECT_EQ(program.wait(kNotHanging), 2) << row.why;
        EXPECT_NE(program.output().find(row.why), std::string::npos) << program.output();
    }
    ::setenv("TESSERA_MPI_PORT", "many", 1);
    EXPECT_NE(call("true").output.find("TESSERA_MPI_PORT: \"many\" is no port"), std::string::npos);
    Program help(kProgram, {"--help"}, folder_.file("help"));
    EXPECT_EQ(help.wait(kNotHanging), 0);
    EXPECT_NE(help.output().find("Example: "), std::string::npos);
}

}  // namespace
}  // namespace tessera
