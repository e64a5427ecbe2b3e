#include "wire/tessera/usage_records_json.hpp"

#include <limits>
#include <utility>

#include "wire/text/json.hpp"
#include "wire/text/json_field.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

void write_record(JsonWriter& w, const UsageRecord& record) {
    w.object([&] {
        w.member("podUid", record.pod.str());
        w.member("container", record.container);
        w.member("gpu", record.gpu.str());
        w.member("from", record.time.from_s);
        w.member("to", record.time.to_s);
        w.member("namespace", record.name.ns);
        w.member("pod", record.name.name);
        w.member("model", record.model);
        w.member("memoryBytes", record.memory.count);
        w.member("capacityBytes", record.capacity.count);
        w.member("computePercent", record.compute.value);
        w.member("whole", record.whole);
    });
}

Result<UsageRecord> read_record(const JsonField& at) {
    UsageRecord record;
    TRY(auto pod, at["podUid"].text());
    record.pod = PodUid(std::move(pod));
    TRY(record.container, at["container"].text());
    TRY(auto gpu, at["gpu"].text());
    record.gpu = GpuUuid(std::move(gpu));
    TRY(record.time.from_s, at["from"].number(0, kEndOfTime));
    TRY(record.time.to_s, at["to"].number(0, kEndOfTime));
    TRY(record.name.ns, at["namespace"].text());
    TRY(record.name.name, at["pod"].text());
    TRY(record.model, at["model"].text());
    TRY(record.memory.count, at["memoryBytes"].number(0, kMost));
    TRY(record.capacity.count, at["capacityBytes"].number(1, kMost));
    TRY(const auto compute, at["computePercent"].number(0, 100));
    record.compute = Percent{static_cast<int>(compute)};
    TRY(record.whole, at["whole"].yes_or_no());
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
