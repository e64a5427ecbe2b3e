// One session with a database, which is made again after an error.
#pragma once

#include <soci/soci.h>

#include <functional>
#include <memory>

#include "adapters/ledger/database.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"

namespace tessera {

// Any thread may call; calls wait for each other. This is the only place of the store that catches
// SOCI's exceptions.
class Connection {
  public:
    using Work = std::function<Result<>(soci::session&)>;

    // `database` outlives the connection.
    explicit Connection(const Database& database) : database_(database) {}

    // Runs `work` in a transaction, which is rolled back if the work fails or throws a soci_error.
    // `work` may run a second time only if the caller calls again.
    Result<> read(const Work& work) TESSERA_EXCLUDES(mutex_);
    Result<> write(const Work& work) TESSERA_EXCLUDES(mutex_);

  private:
    Result<> run(std::string_view begin, std::string_view lock, const Work& work)
        TESSERA_EXCLUDES(mutex_);
    Result<> begin(std::string_view statement) TESSERA_REQUIRES(mutex_);

    const Database& database_;
    Mutex mutex_;
    std::unique_ptr<soci::session> session_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera
