// A PostgreSQL server for tests, of Debian's package postgresql-15.
#pragma once

#include <sys/types.h>

#include <string>

namespace tessera {

// On a Unix socket in a temporary folder; nothing else can reach it. If the programs of the server
// are missing, the first use fails the test and says what to install. The server ends with this
// process, also if it is killed.
class PostgresqlServer {
  public:
    // One for all tests of this program.
    static PostgresqlServer& shared();

    // Of its one database.
    [[nodiscard]] std::string url() const;
    // Removes all tables.
    void clear() const;

    void start();
    // It can read, but does not write until it is promoted.
    void start_as_standby();
    // To the first process of the server, which accepts connections.
    void signal(int number) const;
    // As a crash: connections break, and the next start recovers.
    void kill();

    PostgresqlServer();
    PostgresqlServer(const PostgresqlServer&) = delete;
    PostgresqlServer& operator=(const PostgresqlServer&) = delete;
    ~PostgresqlServer();

  private:
    std::string folder_;
    pid_t pid_ = -1;
};

}  // namespace tessera
