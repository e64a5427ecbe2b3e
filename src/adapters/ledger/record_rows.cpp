#include "adapters/ledger/record_rows.hpp"

namespace tessera {

UsageRecord record_of(const RecordRow& row, const UsageShape& shape) {
    UsageRecord record;
    record.time = row.time();
    record.model = shape.model;
    record.memory = shape.memory;
    record.capacity = shape.capacity;
    record.compute = shape.compute;
    record.whole = shape.whole;
    return record;
}

RecordRows::RecordRows(soci::session& sql)
    : find_((sql.prepare << "SELECT from_second, to_second, shape_id FROM usage_records "
                            "WHERE namespace_id = :ns AND hour = :hour AND share_id = :share AND "
                            "from_second < :until AND to_second > :since ORDER BY from_second",
             soci::use(row_.ns, "ns"), soci::use(row_.hour, "hour"), soci::use(row_.share, "share"),
             soci::use(row_.to_second, "until"), soci::use(row_.from_second, "since"),
             soci::into(found_.from_second), soci::into(found_.to_second),
             soci::into(found_.shape))),
      insert_((sql.prepare << "INSERT INTO usage_records "
                              "(namespace_id, hour, share_id, from_second, to_second, shape_id) "
                              "VALUES (:ns, :hour, :share, :since, :until, :shape)",
               soci::use(row_.ns, "ns"), soci::use(row_.hour, "hour"),
               soci::use(row_.share, "share"), soci::use(row_.from_second, "since"),
               soci::use(row_.to_second, "until"), soci::use(row_.shape, "shape"))),
      remove_((sql.prepare << "DELETE FROM usage_records WHERE namespace_id = :ns AND "
                              "hour = :hour AND share_id = :share AND from_second = :since",
               soci::use(row_.ns, "ns"), soci::use(row_.hour, "hour"),
               soci::use(row_.share, "share"), soci::use(row_.from_second, "since"))) {}

std::vector<RecordRow> RecordRows::find(const RecordRow& where) {
    row_ = where;
    found_ = where;
    std::vector<RecordRow> rows;
    find_.execute();
    while (find_.fetch())
        rows.push_back(found_);
    return rows;
}

void RecordRows::insert(const RecordRow& row) {
    row_ = row;
    insert_.execute(true);
}

void RecordRows::remove(const RecordRow& row) {
    row_ = row;
    remove_.execute(true);
}

}  // namespace tessera
