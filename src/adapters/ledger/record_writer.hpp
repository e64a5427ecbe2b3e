// Adds records to the tables, in one transaction.
#pragma once

#include <soci/soci.h>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "adapters/ledger/record_rows.hpp"
#include "adapters/ledger/row_batch.hpp"
#include "domain/budget/usage_record.hpp"
#include "domain/budget/usage_sum.hpp"
#include "ports/ledger/ledger_store.hpp"

namespace tessera {

// The records have passed check_stored. Throws soci_error.
AddedRecords add_records(soci::session& sql, std::span<const UsageRecord> records);

// The parts of add_records, in the order of the calls. Each needs a few statements, whatever the
// number of records.
class RecordWriter {
  public:
    explicit RecordWriter(soci::session& sql) : sql_(sql) {}

    // Finds what the store has in the intervals of the records.
    void read(std::span<const UsageRecord> records);
    // Decides what changes, and writes it.
    void write();

    [[nodiscard]] const AddedRecords& added() const { return added_; }

  private:
    using ShareKey = std::tuple<std::string, std::string, std::string>;  // pod, container, GPU
    // A row of gpu_shares. There are several of one key only if records contradict each other.
    struct Share {
        RowId id = 0;
        RowId ns_id = 0;
        PodName name;
        std::int64_t last_hour = 0;
    };
    // The records of one key and hour. The last two are rows to remove and to insert.
    struct Group {
        std::int64_t hour = 0;
        std::vector<UsageRecord> records;
        std::vector<UsageRecord> stored;
        std::vector<UsageRecord> removed;
        std::vector<UsageRecord> inserted;
    };
    // Of hourly_usage: what is added to a row.
    struct Sum {
        std::int64_t seconds = 0;
        std::int64_t first_second = kRollUpSeconds;
        std::int64_t last_second = 0;
    };

    static ShareKey key_of(const UsageRecord& record);

    void make_groups(std::span<const UsageRecord> records);
    void find_shares(const std::set<ShareKey>& keys);
    void find_stored();
    void merge(Group& group);
    void add_namespaces();
    void add_shares();
    void find_shapes(const std::set<UsageShape>& shapes);
    void add_shapes();
    void raise_last_hours();
    void write_rows();
    void write_sums();

    Share* share_of(const UsageRecord& record);
    // Of a record whose share and shape are known.
    RecordRow row_of(const UsageRecord& record);

    soci::session& sql_;
    std::vector<Group> groups_;
    std::map<ShareKey, std::vector<Share>> shares_;
    std::map<std::string, RowId> namespaces_;
    std::map<UsageShape, RowId> shapes_;
    // By namespace, hour and shape.
    std::map<std::tuple<RowId, std::int64_t, RowId>, Sum> sums_;
    AddedRecords added_;
};

}  // namespace tessera
