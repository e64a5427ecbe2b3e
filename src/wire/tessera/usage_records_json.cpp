#include "wire/tessera/usage_records_json.hpp"

#include <utility>

#include "wire/tessera/metered_share_json.hpp"
#include "wire/text/json.hpp"
#include "wire/text/json_field.hpp"

namespace tessera {
namespace {

void write_record(JsonWriter& w, const UsageRecord& record) {
    w.object([&] {
        w.member("podUid", record.pod.str());
        w.member("namespace", record.name.ns);
        w.member("pod", record.name.name);
        w.member("from", record.time.from_s);
        w.member("to", record.time.to_s);
        write_metered_share(w, share_of(record));
    });
}

Result<UsageRecord> read_record(const JsonField& at) {
    TRY(auto pod, at["podUid"].text());
    PodName name;
    TRY(name.ns, at["namespace"].text());
    TRY(name.name, at["pod"].text());
    Window time;
    TRY(time.from_s, at["from"].number(0, kEndOfTime));
    TRY(time.to_s, at["to"].number(0, kEndOfTime));
    TRY(const MeteredShare share, read_metered_share(at));
    UsageRecord record = usage_record(PodUid(std::move(pod)), name, time, share);
    if (const auto checked = check_record(record); !checked) return at.fault(checked.error().text);
    return record;
}

}  // namespace

std::string write_usage_records(std::span<const UsageRecord> records) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kUsageRecordsVersion);
        w.array("records", [&] {
            for (const UsageRecord& record : records)
                write_record(w, record);
        });
    });
    return w.take() + "\n";
}

Result<std::vector<UsageRecord>> read_usage_records(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kUsageRecordsVersion));
    return root["records"].each(read_record);
}

}  // namespace tessera
