// tessera-mpi-shell: runs commands of an MPI job's launcher in its workers, in place of ssh. It is
// one static file, which an init container copies into the job's containers.
#include <fcntl.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "adapters/shell/shell_client.hpp"
#include "adapters/shell/shell_server.hpp"
#include "adapters/shell/worker_wait.hpp"
#include "base/log.hpp"
#include "domain/training/mpi_paths.hpp"
#include "programs/shell/shell_settings.hpp"
#include "wire/shell/agent_arguments.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

constexpr int kUsage = 2;
constexpr int kNotRun = 255;  // as ssh
constexpr fs::perms kExecutable = fs::perms::owner_all | fs::perms::group_read |
                                  fs::perms::group_exec | fs::perms::others_read |
                                  fs::perms::others_exec;

constexpr std::string_view kHelp =
    R"(tessera-mpi-shell runs commands of an MPI job's launcher in its workers.

  install FOLDER            copy this program into FOLDER, also as tessera-mpi-rsh
  serve                     run the launcher's commands until SIGTERM
  launch -- COMMAND...      wait until all workers can be reached, then become COMMAND
  rsh [OPTIONS] HOST COMMAND...
                            run COMMAND on HOST; tessera-mpi-rsh does the same

Environment:
  TESSERA_MPI_SECRET_FILE   the secret (/etc/tessera-mpi-secret/key)
  TESSERA_MPI_HOSTS         the list of hosts (/etc/tessera-mpi/hostfile)
  TESSERA_MPI_PORT          the port of the workers (4722)

Example: tessera-mpi-shell rsh job-worker-0.job hostname
)";

Result<int> install(const Words& words) {
    if (words.size() != 1) return fail(Code::invalid_argument, "install: write one FOLDER");
    const fs::path folder = words[0];
    const fs::path program = folder / fs::path(workload::kShellProgram).filename();
    const fs::path agent = folder / fs::path(workload::kShellAgent).filename();
    std::error_code error;
    fs::copy_file("/proc/self/exe", program, fs::copy_options::overwrite_existing, error);
    if (!error) fs::permissions(program, kExecutable, error);
    if (!error) fs::remove(agent, error);
    if (!error) fs::create_symlink(program.filename(), agent, error);
    if (error) return fail(Code::unavailable, folder.string() + ": " + error.message());
    return 0;
}

Result<int> serve(const Words& words) {
    if (!words.empty()) return fail(Code::invalid_argument, "serve: has no arguments");
    TRY(const int number, shell_port());
    TRY(std::string key, shell_secret());
    TRY(ShellServer server, ShellServer::make(number, std::move(key)));
    log_event(Event::started, {{"port", server.port()}});
    return server.run();
}

Result<int> launch(Words words) {
    if (!words.empty() && words[0] == "--") words.erase(words.begin());
    if (words.empty()) return fail(Code::invalid_argument, "launch: the command is missing");
    TRY(const int number, shell_port());
    TRY(const std::string key, shell_secret());
    TRY(Words workers, worker_hosts());
    const auto say = [](const std::string& line) {
        std::cerr << "tessera: " << line << '\n' << std::flush;
    };
    // Without a handler, the first process of a container would not end. The command gets none.
    ::signal(SIGTERM, [](int signal) { ::_exit(128 + signal); });
    wait_for_workers(std::move(workers), number, key, say);
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execvp(pointers[0], pointers.data());
    return fail(Code::unavailable, words[0] + ": " + std::strerror(errno));
}

Result<int> rsh(const Words& words) {
    TRY(AgentCall call, read_agent_arguments(words));
    TRY(const int number, shell_port());
    TRY(std::string key, shell_secret());
    return call_shell({.host = std::move(call.host),
                       .port = number,
                       .secret = std::move(key),
                       .command = std::move(call.command)});
}

// A connection could otherwise get the number of a standard file that is closed.
void open_standard_files() {
    int file = 0;
    do {
        file = ::open("/dev/null", O_RDWR);
    } while (file >= 0 && file <= STDERR_FILENO);
    if (file > STDERR_FILENO) ::close(file);
}

Result<int> run(const std::string& name, Words words) {
    if (name.ends_with("rsh")) return rsh(words);
    if (words.empty()) return fail(Code::invalid_argument, "a command is missing; see --help");
    const std::string command = words[0];
    words.erase(words.begin());
    if (command == "install") return install(words);
    if (command == "serve") return serve(words);
    if (command == "launch") return launch(std::move(words));
    if (command == "rsh") return rsh(words);
    return fail(Code::invalid_argument, command + ": is no command; see --help");
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    tessera::open_standard_files();
    // This program runs in images of users. Their OpenSSL configuration may name files to load.
    ::OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    const std::string name = argc > 0 ? argv[0] : "";
    if (!words.empty() && (words[0] == "--help" || words[0] == "-h") && !name.ends_with("rsh")) {
        std::cout << tessera::kHelp;
        return 0;
    }
    const auto status = tessera::run(name, words);
    if (status) return *status;
    std::cerr << "tessera-mpi-shell: " << status.error().text << '\n';
    return status.error().code == tessera::Code::invalid_argument ? tessera::kUsage
                                                                  : tessera::kNotRun;
}
