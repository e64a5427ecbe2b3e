#include "adapters/ledger/connection.hpp"

#include <fmt/format.h>

#include <string>

namespace tessera {

Result<> Connection::read(const Work& work) {
    return run(database_.dialect().begin_read, {}, work);
}

Result<> Connection::write(const Work& work) {
    return run(database_.dialect().begin_write, database_.dialect().lock, work);
}

Result<> Connection::begin(std::string_view statement) {
    const std::uint64_t identity = database_.identity();
    if (identity != identity_) session_.reset();
    if (session_ != nullptr) {
        try {
            const auto watch = database_.watch(*session_);
            *session_ << std::string(statement);
            return {};
        } catch (const soci::soci_error& error) {
            if (!database_.is_lost(error)) throw;
        }
        // It was lost since the last call. Nothing was done yet, so it can be tried with a new one.
        session_.reset();
    }
    auto connected = database_.connect();
    if (!connected) {
        Error error = std::move(connected).error();
        // Of the caller's arguments only the records are left, and they are not wrong.
        if (error.code == Code::invalid_argument) error.code = Code::unavailable;
        return fail(std::move(error));
    }
    session_ = *std::move(connected);
    identity_ = identity;
    const auto watch = database_.watch(*session_);
    *session_ << std::string(statement);
    return {};
}

Result<> Connection::transact(std::string_view begin_statement, std::string_view lock,
                              const Work& work) {
    TRY_VOID(begin(begin_statement));
    const auto watch = database_.watch(*session_);
    if (!lock.empty()) *session_ << std::string(lock);
    if (auto done = work(*session_); !done) {
        *session_ << "ROLLBACK";
        return done;
    }
    *session_ << "COMMIT";
    return {};
}

Result<> Connection::run(std::string_view begin_statement, std::string_view lock,
                         const Work& work) {
    const auto turn = mutex_.lock_within(database_.limits().turn);
    if (!turn) {
        return fail(Code::unavailable,
                    fmt::format("the ledger's database was busy with other calls for {} s; check "
                                "whether it answers",
                                database_.limits().turn.count() / 1000));
    }
    // Closing the session rolls back, whatever state it is in. The next call makes another.
    try {
        return transact(begin_statement, lock, work);
    } catch (const soci::soci_error& error) {
        session_.reset();
        return fail(database_.explain(error));
    } catch (...) {
        session_.reset();
        throw;
    }
}

}  // namespace tessera
