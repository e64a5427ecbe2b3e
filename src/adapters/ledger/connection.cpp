#include "adapters/ledger/connection.hpp"

#include <string>

namespace tessera {

Result<> Connection::read(const Work& work) {
    return run(database_.dialect().begin_read, {}, work);
}

Result<> Connection::write(const Work& work) {
    return run(database_.dialect().begin_write, database_.dialect().lock, work);
}

Result<> Connection::begin(std::string_view statement) {
    if (session_ != nullptr) {
        try {
            *session_ << std::string(statement);
            return {};
        } catch (const soci::soci_error&) {
            // The connection may have been lost since the last call. Nothing was done yet, so it
            // can be tried with a new one.
            session_.reset();
        }
    }
    TRY(session_, database_.connect());
    *session_ << std::string(statement);
    return {};
}

Result<> Connection::run(std::string_view begin_statement, std::string_view lock,
                         const Work& work) {
    const MutexLock locked(mutex_);
    try {
        TRY_VOID(begin(begin_statement));
        if (!lock.empty()) *session_ << std::string(lock);
        if (auto done = work(*session_); !done) {
            *session_ << "ROLLBACK";
            return done;
        }
        *session_ << "COMMIT";
        return {};
    } catch (const soci::soci_error& error) {
        // Closing the session rolls back, whatever state it is in. The next call makes another.
        session_.reset();
        return fail(database_.explain(error));
    }
}

}  // namespace tessera
