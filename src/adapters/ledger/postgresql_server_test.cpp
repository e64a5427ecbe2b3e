#include "adapters/ledger/postgresql_server_test.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <soci/postgresql/soci-postgresql.h>
#include <soci/soci.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace tessera {
namespace {

constexpr const char* kPrograms = "/usr/lib/postgresql/15/bin";

[[noreturn]] void give_up(const std::string& why) {
    throw std::runtime_error(why);
}

// PostgreSQL refuses to run as root, so a server that root starts runs as the package's user. The
// signal ends the server at once if this process ends.
std::string prefix() {
    const std::string user = "--reuid=postgres --regid=postgres --clear-groups ";
    return "setpriv " + (::geteuid() == 0 ? user : "") + "--pdeathsig QUIT ";
}

}  // namespace

PostgresqlServer& PostgresqlServer::shared() {
    static PostgresqlServer server;
    return server;
}

PostgresqlServer::PostgresqlServer() {
    if (!std::filesystem::exists(fmt::format("{}/postgres", kPrograms)))
        give_up("these tests need PostgreSQL 15: run tools/setup, or install postgresql-15");
    // Paths of Unix sockets are short.
    std::string name = fmt::format("{}/tessera-postgresql-XXXXXX",
                                   std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp");
    if (::mkdtemp(name.data()) == nullptr) give_up("mkdtemp failed");
    folder_ = name;
    if (::geteuid() == 0) {
        const passwd* user = ::getpwnam("postgres");
        if (user == nullptr) give_up("there is no user postgres: install postgresql-15");
        if (::chown(folder_.c_str(), user->pw_uid, user->pw_gid) != 0) give_up("chown failed");
    }
    const std::string command = fmt::format(
        "cd / && {}{}/initdb -D {}/data --auth=trust --username=ledger --encoding=UTF8 "
        "--locale=C --no-sync > {}/initdb.log 2>&1",
        prefix(), kPrograms, folder_, folder_);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs
    if (std::system(command.c_str()) != 0)
        give_up("initdb failed; its messages are in " + folder_ + "/initdb.log");
    start();
}

PostgresqlServer::~PostgresqlServer() {
    kill();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

std::string PostgresqlServer::url() const {
    return fmt::format("postgresql:///postgres?host={}&user=ledger", folder_);
}

void PostgresqlServer::start() {
    // The shell execs the server, which so has this id. Durability is the kernel's here.
    const std::string command = fmt::format(
        "cd / && exec {}{}/postgres -D {}/data -k {} -c listen_addresses= -c fsync=off "
        "-c max_connections=20 -c shared_buffers=32MB >> {}/server.log 2>&1",
        prefix(), kPrograms, folder_, folder_, folder_);
    pid_ = ::fork();
    if (pid_ == 0) {
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        ::_exit(127);
    }
    for (int tries = 0; tries < 3000; ++tries) {
        try {
            const soci::session session(soci::postgresql, url());
            return;
        } catch (const soci::soci_error&) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }
    give_up("PostgreSQL does not start; its messages are in " + folder_ + "/server.log");
}

void PostgresqlServer::start_as_standby() {
    std::ofstream(folder_ + "/data/standby.signal").flush();
    start();
}

void PostgresqlServer::signal(int number) const {
    ::kill(pid_, number);
}

void PostgresqlServer::kill() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGQUIT);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

// Much quicker than another database.
void PostgresqlServer::clear() const {
    soci::session session(soci::postgresql, url());
    session << "SET client_min_messages = warning";
    session << "DROP SCHEMA public CASCADE";
    session << "CREATE SCHEMA public";
}

}  // namespace tessera
