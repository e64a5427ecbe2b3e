// The ledger's store in any of the databases.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "adapters/ledger/connection.hpp"
#include "adapters/ledger/database.hpp"
#include "ports/ledger/ledger_store.hpp"

namespace tessera {

class SqlLedger : public LedgerStore {
  public:
    // Connects, and creates or changes the tables.
    static Result<std::unique_ptr<LedgerStore>> open(std::unique_ptr<const Database> database);

    Result<AddedRecords> add(std::span<const UsageRecord> records) override;
    Result<std::vector<UsageRecord>> records(const std::string& ns, Window window) override;
    Result<std::vector<UsageSum>> usage(const std::string& ns, Window window) override;
    Result<std::map<std::string, std::vector<UsageSum>>> usage_by_namespace(Window window) override;
    Result<std::map<std::string, KeptBudget>> budgets() override;
    Result<> keep_budgets(const std::map<std::string, KeptBudget>& budgets) override;
    Result<RolledUp> roll_up(std::int64_t before_s, const std::stop_token& stop) override;
    Result<std::int64_t> remove_before(std::int64_t unix_s, const std::stop_token& stop) override;

    explicit SqlLedger(std::unique_ptr<const Database> database)
        : database_(std::move(database)), reader_(*database_), writer_(*database_) {}

  private:
    Result<> write(const Connection::Work& work);

    std::unique_ptr<const Database> database_;
    // Two, so that a long read and a write do not wait for each other.
    Connection reader_;
    Connection writer_;
};

}  // namespace tessera
