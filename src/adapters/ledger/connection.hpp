// One session with a database, which is made again after an error.
#pragma once

#include <soci/soci.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "adapters/ledger/database.hpp"
#include "base/bounded_mutex.hpp"
#include "base/result.hpp"

namespace tessera {

// Any thread may call. Calls wait for each other, in the order in which they came, and give up
// after LedgerLimits::turn. This is the only place of the store that catches SOCI's exceptions.
class Connection {
  public:
    using Work = std::function<Result<>(soci::session&)>;

    // `database` outlives the connection.
    explicit Connection(const Database& database) : database_(database) {}

    // Runs `work` in a transaction, which is rolled back if the work fails or throws. A soci_error
    // becomes an Error, which is never invalid_argument. Other exceptions are the caller's.
    Result<> read(const Work& work);
    Result<> write(const Work& work);

  private:
    Result<> run(std::string_view begin, std::string_view lock, const Work& work);
    Result<> transact(std::string_view begin, std::string_view lock, const Work& work);
    Result<> begin(std::string_view statement);

    const Database& database_;
    BoundedMutex mutex_;
    std::unique_ptr<soci::session> session_;  // guarded by mutex_
    std::uint64_t identity_ = 0;              // of the session's database; likewise
};

}  // namespace tessera
