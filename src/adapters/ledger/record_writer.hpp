// Adds records to the tables, in one transaction.
#pragma once

#include <soci/soci.h>

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "adapters/ledger/record_rows.hpp"
#include "adapters/ledger/row_ids.hpp"
#include "domain/budget/usage_record.hpp"
#include "ports/ledger/ledger_store.hpp"

namespace tessera {

// The records have passed check_record. Throws soci_error.
AddedRecords add_records(soci::session& sql, std::span<const UsageRecord> records);

// The parts of add_records. The object stays where it is, because statements are bound to members.
class RecordWriter {
  public:
    explicit RecordWriter(soci::session& sql);
    RecordWriter(const RecordWriter&) = delete;
    RecordWriter& operator=(const RecordWriter&) = delete;

    // Records of one pod, container, GPU and hour.
    void add(const std::vector<UsageRecord>& records);
    // After all records.
    void write_sums();

    [[nodiscard]] const AddedRecords& added() const { return added_; }

  private:
    // A row of gpu_shares. There are several of one pod, container and GPU only if records
    // contradict each other.
    struct Share {
        RowId id = 0;
        RowId ns_id = 0;
        PodName name;
        std::int64_t last_hour = 0;
    };

    void find_shares(const UsageRecord& record);
    Share& share_of(const UsageRecord& record, std::int64_t hour);
    std::vector<UsageRecord> find_stored(const UsageRecord& like, Window window);
    RecordRow row_of(const UsageRecord& record, std::int64_t hour);
    void insert(const UsageRecord& record, std::int64_t hour);
    void remove(const UsageRecord& record, std::int64_t hour);

    soci::session& sql_;
    RowIds ids_;
    RecordRows rows_;
    UsageRecord key_;            // bound: pod, container and GPU of shares_
    std::vector<Share> shares_;  // all of key_
    Share found_;                // bound
    soci::statement find_shares_;
    RecordRow pending_;  // bound
    soci::statement note_pending_;
    // By namespace, hour and shape: seconds to add.
    std::map<std::tuple<RowId, std::int64_t, RowId>, std::int64_t> sums_;
    AddedRecords added_;
};

}  // namespace tessera
